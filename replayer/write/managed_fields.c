/* managed_fields.c: see managed_fields.h. */
#include "replayer/write/managed_fields.h"
#include "schema/base/count_of.h"

#include <stdlib.h>

#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"
#define ANCIENT      "ancient-changes"
#define FIRST        "before-first-apply"

struct manager {
	cJSON *entry; /* of managedFields, without its fields */
	cJSON *set;
};

struct managers {
	struct manager *at;
	size_t count;
};

/* ---- managedFields ---- */

static void managers_release(struct managers *m)
{
	for (size_t i = 0; i < m->count; i++) {
		cJSON_Delete(m->at[i].entry);
		cJSON_Delete(m->at[i].set);
	}
	free(m->at);
	*m = (struct managers){0};
}

/* Takes both over. */
static struct manager *add_manager(struct managers *m, cJSON *entry, cJSON *set)
{
	m->at = xrealloc(m->at, (m->count + 1) * sizeof(*m->at));
	m->at[m->count] = (struct manager){entry, set};
	return &m->at[m->count++];
}

static void remove_manager(struct managers *m, size_t at)
{
	cJSON_Delete(m->at[at].entry);
	cJSON_Delete(m->at[at].set);
	m->count--;
	memmove(&m->at[at], &m->at[at + 1], (m->count - at) * sizeof(*m->at));
}

static bool is_apply(const cJSON *entry)
{
	return strcmp(json_tree_text(entry, "operation"), "Apply") == 0;
}

/* Of a list with an entry that makes no sense, nothing is taken. */
static void read_managers(const cJSON *object, struct managers *ret)
{
	const cJSON *entry;

	cJSON_ArrayForEach(entry, json_tree_at(object, "metadata", "managedFields", NULL))
	{
		cJSON *kept;

		if (ret->count == MANAGED_ENTRIES_MAX ||
			(!is_apply(entry) && strcmp(json_tree_text(entry, "operation"), "Update") != 0) ||
			!*json_tree_text(entry, "apiVersion") ||
			strcmp(json_tree_text(entry, "fieldsType"), "FieldsV1") != 0) {
			managers_release(ret);
			return;
		}
		kept = cJSON_Duplicate(entry, true);
		json_tree_set(kept, "fieldsV1", NULL);
		add_manager(ret, kept, field_set_decode(json_tree_at(entry, "fieldsV1", NULL)));
	}
}

static int compare_managers(const void *a, const void *b)
{
	static const char *const members[] = {"operation", "time", "manager", "apiVersion", "subresource"};
	const struct manager *x = a, *y = b;
	int order = 0;

	for (size_t i = 0; i < COUNT_OF(members) && order == 0; i++)
		order = strcmp(json_tree_text(x->entry, members[i]), json_tree_text(y->entry, members[i]));
	return order;
}

static void copy_text(const cJSON *from, cJSON *to, const char *name)
{
	const char *text = json_tree_text(from, name);

	if (*text)
		cJSON_AddStringToObject(to, name, text);
}

static void write_managers(struct managers *m, cJSON *object)
{
	cJSON *list = cJSON_CreateArray();

	if (m->count)
		qsort(m->at, m->count, sizeof(*m->at), compare_managers);
	for (size_t i = 0; i < m->count; i++) {
		cJSON *entry = cJSON_CreateObject();

		copy_text(m->at[i].entry, entry, "manager");
		copy_text(m->at[i].entry, entry, "operation");
		copy_text(m->at[i].entry, entry, "apiVersion");
		copy_text(m->at[i].entry, entry, "time");
		cJSON_AddStringToObject(entry, "fieldsType", "FieldsV1");
		cJSON_AddItemToObject(entry, "fieldsV1", field_set_encode(m->at[i].set));
		copy_text(m->at[i].entry, entry, "subresource");
		cJSON_AddItemToArray(list, entry);
	}
	if (!m->count) {
		cJSON_Delete(list);
		list = NULL;
	}
	json_tree_set(json_tree_object(object, "metadata"), "managedFields", list);
}

/* ---- one manager ---- */

static bool is_manager(const cJSON *entry, const struct field_writer *who, bool apply)
{
	return is_apply(entry) == apply && strcmp(json_tree_text(entry, "manager"), who->name) == 0 &&
	       strcmp(json_tree_text(entry, "subresource"), who->subresource) == 0 &&
	       (apply || strcmp(json_tree_text(entry, "apiVersion"), who->api_version) == 0);
}

static struct manager *find_manager(const struct managers *m, const struct field_writer *who, bool apply)
{
	for (size_t i = 0; i < m->count; i++) {
		if (is_manager(m->at[i].entry, who, apply))
			return &m->at[i];
	}
	return NULL;
}

static cJSON *make_entry(const char *name, const char *operation, const struct field_writer *who)
{
	cJSON *entry = cJSON_CreateObject();

	cJSON_AddStringToObject(entry, "manager", name);
	cJSON_AddStringToObject(entry, "operation", operation);
	cJSON_AddStringToObject(entry, "apiVersion", who->api_version);
	if (*who->subresource)
		cJSON_AddStringToObject(entry, "subresource", who->subresource);
	return entry;
}

static void drop_empty(struct managers *m)
{
	for (size_t i = m->count; i-- > 0;) {
		if (field_set_is_empty(m->at[i].set))
			remove_manager(m, i);
	}
}

/* Fields that say what the object is, and what the server alone writes, have no manager. */
static void strip(cJSON **set)
{
	static const char *const top[] = {"f:apiVersion", "f:kind", "f:metadata"};
	static const char *const metadata[] = {"f:name", "f:namespace", "f:creationTimestamp", "f:selfLink",
		"f:uid", "f:clusterName", "f:generation", "f:managedFields", "f:resourceVersion"};
	cJSON *stripped = cJSON_CreateObject(), *below;

	for (size_t i = 0; i < COUNT_OF(top); i++)
		field_set_mark(field_set_step(stripped, top[i]));
	below = field_set_step(stripped, "f:metadata");
	for (size_t i = 0; i < COUNT_OF(metadata); i++)
		field_set_mark(field_set_step(below, metadata[i]));
	field_set_change(set, stripped, FIELD_SET_DIFFERENCE);
	cJSON_Delete(stripped);
}

static void ignore(cJSON *set, const struct field_writer *who)
{
	char *step = who->ignored ? xasprintf("f:%s", who->ignored) : NULL;

	if (step)
		cJSON_DeleteItemFromObjectCaseSensitive(set, step);
	free(step);
}

static void managed_fields_compare(
	const cJSON *old, const cJSON *new, const struct field_writer *who, struct field_changes *ret)
{
	field_walk_compare(old, new, who->type, ret);
	ignore(ret->removed, who);
	ignore(ret->modified, who);
	ignore(ret->added, who);
}

/* ---- the others ---- */

/* "NAME" as a conflict tells it. */
static char *manager_text(const cJSON *entry)
{
	const char *sub = json_tree_text(entry, "subresource"),
		   *version = json_tree_text(entry, "apiVersion");
	char *name = xasprintf("\"%s\"", json_tree_text(entry, "manager")), *longer;

	if (*sub) {
		longer = xasprintf("%s with subresource \"%s\"", name, sub);
		free(name);
		name = longer;
	}
	if (!is_apply(entry)) {
		longer = xasprintf("%s using %s", name, version);
		free(name);
		name = longer;
	}
	return name;
}

/* What others hold of the changed fields: [{"manager": TEXT, "set": SET}]. self: the one that does not count;
 * NULL: all count. */
static cJSON *find_conflicts(
	const struct managers *m, const struct manager *self, const struct field_changes *c)
{
	cJSON *changed = field_set_combine(c->modified, c->added, FIELD_SET_UNION),
	      *conflicts = cJSON_CreateArray();

	for (size_t i = 0; i < m->count; i++) {
		cJSON *held = field_set_combine(m->at[i].set, changed, FIELD_SET_INTERSECTION), *conflict;
		char *text;

		if (&m->at[i] == self || field_set_is_empty(held)) {
			cJSON_Delete(held);
			continue;
		}
		text = manager_text(m->at[i].entry);
		conflict = cJSON_CreateObject();
		cJSON_AddStringToObject(conflict, "manager", text);
		cJSON_AddItemToObject(conflict, "set", held);
		cJSON_AddItemToArray(conflicts, conflict);
		free(text);
	}
	cJSON_Delete(changed);
	return conflicts;
}

/* Changed and removed fields are no longer theirs. */
static void take_from_others(struct managers *m, const struct manager *self, const struct field_changes *c)
{
	for (size_t i = 0; i < m->count; i++) {
		if (&m->at[i] == self)
			continue;
		field_set_change(&m->at[i].set, c->modified, FIELD_SET_DIFFERENCE);
		field_set_change(&m->at[i].set, c->added, FIELD_SET_DIFFERENCE);
		field_set_change(&m->at[i].set, c->removed, FIELD_SET_DIFFERENCE);
	}
}

/* ---- updates ---- */

/* The parts that an object of a built-in kind has before anybody writes to it. */
static cJSON *hollow(const cJSON *object)
{
	static const char *const parts[] = {
		"metadata", "spec", "status", "template", "strategy", "updateStrategy", "jobTemplate"};
	cJSON *made = cJSON_CreateObject();

	for (size_t i = 0; i < COUNT_OF(parts); i++) {
		const cJSON *part = cJSON_GetObjectItemCaseSensitive(object, parts[i]);

		if (cJSON_IsObject(part))
			cJSON_AddItemToObject(made, parts[i], hollow(part));
	}
	return made;
}

static cJSON *nothing_yet(const cJSON *object, const struct field_writer *who)
{
	return who->type.custom_object ? cJSON_CreateObject() : hollow(object);
}

/* [] or [{}]: the writer wants them forgotten. */
static bool is_reset(const cJSON *list)
{
	return cJSON_IsArray(list) && (!list->child || (!list->child->next && !list->child->child));
}

static void read_for_update(
	const cJSON *old, const cJSON *new, const struct field_writer *who, struct managers *ret)
{
	if (!*who->subresource && is_reset(json_tree_at(new, "metadata", "managedFields", NULL)))
		return;
	if (!*who->subresource)
		read_managers(new, ret);
	if (ret->count == 0 && old)
		read_managers(old, ret);
}

static const cJSON *oldest_updater(const struct managers *m, size_t *ret_at, size_t *ret_count)
{
	const cJSON *oldest = NULL;

	*ret_count = 0;
	for (size_t i = 0; i < m->count; i++) {
		const cJSON *entry = m->at[i].entry;

		if (is_apply(entry))
			continue;
		++*ret_count;
		if (strcmp(json_tree_text(entry, "manager"), ANCIENT) != 0 &&
			(!oldest ||
				strcmp(json_tree_text(entry, "time"), json_tree_text(oldest, "time")) < 0)) {
			oldest = entry;
			*ret_at = i;
		}
	}
	return oldest;
}

static void cap_updaters(struct managers *m)
{
	size_t at = 0, count;

	while (oldest_updater(m, &at, &count) && count > MANAGED_UPDATERS_MAX) {
		const struct field_writer ancient = {.name = ANCIENT,
			.api_version = json_tree_text(m->at[at].entry, "apiVersion"),
			.subresource = ""};
		struct manager *to = find_manager(m, &ancient, false);

		if (to) {
			field_set_change(&to->set, m->at[at].set, FIELD_SET_UNION);
			remove_manager(m, at);
		} else {
			json_tree_set_text(m->at[at].entry, "manager", ANCIENT);
			json_tree_set(m->at[at].entry, "subresource", NULL);
		}
	}
}

static void add_update(struct managers *m, cJSON *set, const char *name, const struct field_writer *who)
{
	struct field_writer as = *who;
	struct manager *self;

	as.name = name;
	self = find_manager(m, &as, false);
	strip(&set);
	if (field_set_is_empty(set)) {
		cJSON_Delete(set);
		return;
	}
	if (self) {
		field_set_change(&self->set, set, FIELD_SET_UNION);
		cJSON_Delete(set);
	} else {
		self = add_manager(m, make_entry(name, "Update", who), set);
	}
	json_tree_set_text(self->entry, "time", who->now);
}

void managed_update(const cJSON *old, cJSON *new, const struct field_writer *who)
{
	struct managers m = {0};
	struct field_changes c;
	cJSON *empty = NULL;

	read_for_update(old, new, who, &m);
	json_tree_set(json_tree_object(new, "metadata"), "managedFields", NULL);
	if (old && m.count == 0)
		return;
	if (!old)
		old = empty = nothing_yet(new, who);
	managed_fields_compare(old, new, who, &c);
	take_from_others(&m, NULL, &c);
	add_update(&m, field_set_combine(c.modified, c.added, FIELD_SET_UNION), who->name, who);
	drop_empty(&m);
	cap_updaters(&m);
	write_managers(&m, new);
	field_changes_release(&c);
	managers_release(&m);
	cJSON_Delete(empty);
}

/* ---- apply ---- */

/* The fields of an object with all named fields above them. */
static cJSON *whole_set(const cJSON *object, struct field_type type)
{
	cJSON *set = field_walk_set(object, type);

	field_walk_complete(set, type);
	return set;
}

static cJSON *owned_set(const struct managers *m, struct field_type type)
{
	cJSON *owned = cJSON_CreateObject();

	for (size_t i = 0; i < m->count; i++)
		field_set_change(&owned, m->at[i].set, FIELD_SET_UNION);
	field_walk_complete(owned, type);
	return owned;
}

/* Takes out what the manager applied last time, and no longer, unless others hold it. */
static void prune(cJSON *merged, const struct managers *m, cJSON *last, struct field_type type)
{
	cJSON *all = whole_set(merged, type), *owned = owned_set(m, type), *left, *gone;
	cJSON *pruned = cJSON_Duplicate(merged, true);

	field_walk_complete(last, type);
	field_walk_remove(pruned, last, type);
	left = whole_set(pruned, type);
	cJSON_Delete(pruned);
	field_set_change(&left, owned, FIELD_SET_UNION);
	gone = field_set_combine(all, left, FIELD_SET_DIFFERENCE);
	cJSON_Delete(left);

	pruned = cJSON_Duplicate(merged, true);
	field_walk_remove(pruned, gone, type);
	left = whole_set(pruned, type);
	cJSON_Delete(pruned);
	cJSON_Delete(gone);

	/* Only what this manager held goes, even where a list's item would now be without its keys. */
	gone = field_set_combine(all, left, FIELD_SET_DIFFERENCE);
	field_set_change(&gone, last, FIELD_SET_INTERSECTION);
	field_walk_remove(merged, gone, type);
	cJSON_Delete(gone);
	cJSON_Delete(left);
	cJSON_Delete(owned);
	cJSON_Delete(all);
}

/* Who applied with kubectl before may change by kubectl what the annotation says and still stands so. */
static void allow_last_applied(cJSON *conflicts, const cJSON *live, const struct field_writer *who)
{
	const char *text = json_tree_text(json_tree_at(live, "metadata", "annotations", NULL), LAST_APPLIED);
	struct field_changes c;
	cJSON *applied, *allowed;

	if (strcmp(who->name, "kubectl") != 0 || !*text || json_tree_parse(slice_of(text), &applied, NULL))
		return;
	allowed = field_walk_set(applied, who->type);
	field_walk_compare(applied, live, who->type, &c);
	field_set_change(&allowed, c.modified, FIELD_SET_DIFFERENCE);
	field_set_change(&allowed, c.added, FIELD_SET_DIFFERENCE);
	field_set_change(&allowed, c.removed, FIELD_SET_DIFFERENCE);
	for (cJSON *conflict = conflicts->child, *next; conflict; conflict = next) {
		cJSON *set = cJSON_DetachItemFromObjectCaseSensitive(conflict, "set");

		next = conflict->next;
		field_set_change(&set, allowed, FIELD_SET_DIFFERENCE);
		cJSON_AddItemToObject(conflict, "set", set);
		if (field_set_is_empty(set))
			cJSON_Delete(cJSON_DetachItemViaPointer(conflicts, conflict));
	}
	field_changes_release(&c);
	cJSON_Delete(allowed);
	cJSON_Delete(applied);
}

/* kubectl keeps the annotation where it is, for those who apply without the server. */
static void renew_last_applied(cJSON *made, const cJSON *object, const struct field_writer *who)
{
	cJSON *annotations = json_tree_at(made, "metadata", "annotations", NULL), *applied;
	char *text, *line;

	if (strcmp(who->name, "kubectl") != 0 || !*json_tree_text(annotations, LAST_APPLIED))
		return;
	applied = cJSON_Duplicate(object, true);
	json_tree_set(
		json_tree_object(json_tree_object(applied, "metadata"), "annotations"), LAST_APPLIED, NULL);
	text = cJSON_PrintUnformatted(applied);
	line = xasprintf("%s\n", text ? text : "");
	json_tree_set_text(annotations, LAST_APPLIED, line);
	free(line);
	cJSON_free(text);
	cJSON_Delete(applied);
}

/* One entry for each field. */
static cJSON *list_conflicts(const cJSON *conflicts)
{
	cJSON *list = cJSON_CreateArray();
	const cJSON *conflict, *path;

	cJSON_ArrayForEach(conflict, conflicts)
	{
		cJSON *paths = field_set_paths(json_tree_at(conflict, "set", NULL));

		cJSON_ArrayForEach(path, paths)
		{
			cJSON *entry = cJSON_CreateObject();

			cJSON_AddStringToObject(entry, "manager", json_tree_text(conflict, "manager"));
			cJSON_AddStringToObject(entry, "field", path->valuestring);
			cJSON_AddItemToArray(list, entry);
		}
		cJSON_Delete(paths);
	}
	return list;
}

static void read_for_apply(const cJSON *live, const struct field_writer *who, struct managers *ret)
{
	struct field_changes c;
	cJSON *empty;

	read_managers(live, ret);
	if (!live || ret->count)
		return;
	empty = nothing_yet(live, who);
	managed_fields_compare(empty, live, who, &c);
	add_update(ret, field_set_combine(c.modified, c.added, FIELD_SET_UNION), FIRST, who);
	field_changes_release(&c);
	cJSON_Delete(empty);
}

/* The manager's new set; its last one is given back, NULL when there was none. */
static cJSON *replace_set(struct managers *m, const cJSON *object, const struct field_writer *who)
{
	struct manager *self = find_manager(m, who, true);
	cJSON *set = field_walk_set(object, who->type), *last = self ? self->set : NULL;

	ignore(set, who);
	if (self)
		self->set = set;
	else
		self = add_manager(m, make_entry(who->name, "Apply", who), set);
	json_tree_set_text(self->entry, "apiVersion", who->api_version);
	return last;
}

/* Writes the managers into `made`. Returns the conflicts that forbid it, NULL when there are none. */
static cJSON *managed_fields_settle(
	struct managers *m, const cJSON *live, cJSON *made, const struct field_writer *who, bool force)
{
	struct manager *self = find_manager(m, who, true);
	struct field_changes c;
	cJSON *conflicts, *list = NULL;

	managed_fields_compare(live, made, who, &c);
	conflicts = find_conflicts(m, self, &c);
	allow_last_applied(conflicts, live, who);
	if (conflicts->child && !force) {
		list = list_conflicts(conflicts);
	} else {
		take_from_others(m, self, &c);
		strip(&self->set);
		if (!json_tree_equal(live, made))
			json_tree_set_text(self->entry, "time", who->now);
		drop_empty(m);
		write_managers(m, made);
	}
	cJSON_Delete(conflicts);
	field_changes_release(&c);
	return list;
}

int managed_apply(const cJSON *live, const cJSON *object, const struct field_writer *who, bool force,
	cJSON **ret, cJSON **ret_conflicts, struct err *err)
{
	struct managers m = {0};
	cJSON *before, *made, *last;
	int rc = field_walk_check(object, who->type, err);

	if (rc)
		return rc;
	before = live ? cJSON_Duplicate(live, true) : cJSON_CreateObject();
	if (live)
		json_tree_set(json_tree_object(before, "metadata"), "managedFields", NULL);
	made = cJSON_Duplicate(before, true);
	field_walk_merge(made, object, who->type);
	read_for_apply(live, who, &m);
	last = replace_set(&m, object, who);
	if (last)
		prune(made, &m, last, who->type);
	*ret = made;
	*ret_conflicts = managed_fields_settle(&m, before, made, who, force);
	if (*ret_conflicts) {
		cJSON_Delete(made);
		*ret = NULL;
	} else {
		field_walk_drop_emptied(made);
		renew_last_applied(made, object, who);
	}
	cJSON_Delete(last);
	cJSON_Delete(before);
	managers_release(&m);
	return 0;
}
