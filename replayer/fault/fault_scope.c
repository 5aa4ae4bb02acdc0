/* fault_scope.c: see fault_scope.h. */
#include "replayer/fault/fault_scope.h"

#include "replayer/fault/gap_spec.h"
#include "replayer/kinds/resource_names.h"
#include "schema/tape/position.h"

#include <stdlib.h>

struct resolving {
	const struct fault_ground *on;
	struct catalog known;
	bool has_known;
	struct err *err;
};

/* ---- resources ---- */

/* A list of names, and what they mean. */
struct naming {
	const struct fault_texts *names;
	struct fault_resource **meant;
	size_t *meant_count;
	const char *place;
};

/* What was meant by the name: a resource, or in the short form a word of it. The caller frees; NULL: nobody
 * knows. */
static char *meaning_of(const struct resolving *v, const char *name, bool short_form)
{
	struct similar similar = similar_to((struct slice){name, strcspn(name, ".")});
	char *word = short_form ? similar_in(similar.word, gap_spec_words) : NULL;
	const struct catalog_resource *meant;

	if (word)
		similar_offer(&similar, word, NULL);
	resource_names_offer(&v->known, &similar);
	meant = similar.choice;
	if (!meant)
		return word;
	free(word);
	return xasprintf("%s%s%s", meant->resource, *meant->group ? "." : "", meant->group);
}

static int unknown_resource(
	const struct resolving *v, const struct fault_rule *r, const char *place, const char *name)
{
	char *meant = meaning_of(v, name, r->short_form);
	char *hint = meant ? xasprintf("; did you mean '%s'?", meant) : xstrdup("");

	if (r->short_form)
		err_set(v->err, ERR_USAGE,
			"%s: found '%.60s', expected one of the words of --gap, or a resource of the tape or of "
			"Kubernetes%s",
			place, name, hint);
	else
		err_set(v->err, ERR_USAGE, "%s: neither the tape nor Kubernetes has a resource '%.60s'%s",
			place ? place : r->name, name, hint);
	free(hint);
	free(meant);
	return ERR_USAGE;
}

/* "RESOURCE.VERSION.GROUP": only that version. */
static bool names_version(const char *name, const struct catalog_resource *r)
{
	const char *dot = strchr(name, '.');

	return dot && strcmp(dot + 1, r->group) != 0;
}

static int resolve_name(
	struct resolving *v, const struct fault_rule *r, const struct naming *n, const char *name)
{
	struct catalog_choice choice = {0};
	int rc = 0;

	if (catalog_find(&v->known, name, &choice)) {
		for (size_t i = 0; i < choice.count; i++) {
			const struct catalog_resource *found = choice.items[i];

			fault_resources_add(n->meant, n->meant_count,
				&(struct fault_resource){.resource = found->resource,
					.group = found->group,
					.version = names_version(name, found) ? found->version : NULL,
					.namespaced = found->namespaced});
		}
	} else if (!v->on->lenient) {
		rc = unknown_resource(v, r, n->place, name);
	}
	catalog_choice_release(&choice);
	return rc;
}

/* A namespace in the path of a request for what has none. */
static int check_namespace(const struct resolving *v, const struct fault_rule *r)
{
	const struct fault_where *w = &r->where;

	if (!w->namespace || !*w->namespace || !w->meant_count)
		return 0;
	for (size_t i = 0; i < w->meant_count; i++) {
		if (w->meant[i].namespaced)
			return 0;
	}
	return err_set(v->err, ERR_USAGE, "%s: '%s' has no namespaces, so that nothing is in '%s'",
		w->place ? w->place : r->name, w->meant[0].resource, w->namespace);
}

static int resolve_names(struct resolving *v, const struct fault_rule *r, const struct naming *n)
{
	int rc = 0;

	if (n->names->count == 0)
		return 0;
	if (!v->has_known)
		resource_names_of(v->on->tape, &v->known);
	v->has_known = true;
	for (size_t i = 0; i < n->names->count && rc == 0; i++)
		rc = resolve_name(v, r, n, n->names->items[i]);
	return rc;
}

static int resolve_resources(struct resolving *v, struct fault_rule *r)
{
	struct fault_where *w = &r->where;
	struct fault_kind_of_write *written = &r->when.written;
	const struct naming scope = {&w->resource, &w->meant, &w->meant_count, w->place};
	const struct naming write = {
		&written->resource, &written->meant, &written->meant_count, r->when.place};
	int rc = resolve_names(v, r, &scope);

	if (rc == 0)
		rc = check_namespace(v, r);
	return rc ? rc : resolve_names(v, r, &write);
}

/* ---- positions ---- */

static const char *place_of(const struct fault_rule *r)
{
	return r->when.place ? r->when.place : r->name;
}

/* A time after the end that is further away than the tape is long was hardly meant. */
static bool comes_later(const struct tape_position *p)
{
	int64_t later_ns = p->time_ns - p->span.end_ns;

	return p->place == POSITION_AFTER && p->by_time && later_ns <= p->span.end_ns - p->span.begin_ns;
}

static bool can_come(const struct resolving *v, const struct tape_position *p)
{
	return p->place == POSITION_ON_TAPE || (v->on->goes_on && comes_later(p)) || v->on->lenient;
}

/* `at` may be NULL: then nothing is to be found. */
static int resolve_position(
	struct resolving *v, const struct fault_rule *r, const char *at, uint64_t *ret_seq, int64_t *ret_ns)
{
	char remark[POSITION_REMARK_BYTES];
	struct tape_position p;
	int rc = at ? tape_position_find(v->on->tape, at, &p, v->err) : 0;

	if (!at)
		return 0;
	if (rc < 0)
		return err_prefix(v->err, rc, "%s", place_of(r));
	if (!can_come(v, &p) && tape_position_remark(&p, at, remark))
		return err_set(v->err, ERR_USAGE, "%s: %s", place_of(r), remark);
	*ret_seq = p.seq;
	*ret_ns = p.time_ns;
	return 0;
}

static int resolve_positions(struct resolving *v, struct fault_rule *r)
{
	struct fault_when *w = &r->when;
	const char *at = w->trigger == FAULT_AT_POSITION ? w->at : NULL;
	int64_t as_of_ns;
	int rc = resolve_position(v, r, at, &w->at_seq, &w->at_ns);

	if (rc == 0)
		rc = resolve_position(v, r, w->since, &w->since_seq, &w->since_ns);
	if (rc == 0)
		rc = resolve_position(v, r, r->what.as_of, &r->what.as_of_seq, &as_of_ns);
	return rc;
}

int fault_resolve(struct fault_file *f, const struct fault_ground *on, struct err *err)
{
	struct resolving v = {.on = on, .err = err};
	int rc = tape_position_frame(on->tape, &f->frame, err);

	for (size_t i = 0; i < f->count && rc == 0; i++) {
		rc = resolve_positions(&v, &f->rules[i]);
		if (rc == 0)
			rc = resolve_resources(&v, &f->rules[i]);
	}
	catalog_release(&v.known);
	return rc;
}
