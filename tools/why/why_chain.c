/*
 * why_chain.c: from a fact to what explains it, and on from there. Each statement finds the object that the last step
 * is about in parameters: :resource :namespace :name :uid, :seq and :ns of the event, :rv ('' unless a watch told it),
 * :first :first_ns :first_rv (the same of the object's first event on the tape), :owner_uid, :node (of a pod), :until (the
 * last event that counts), and in :told the last step's event.
 */
#include "tools/why/why.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"

#include <stdio.h>
#include <stdlib.h>

#define STEPS_MAX 12

static const char by_name[] = "apigroup = :apigroup AND resource = :resource AND name = :name";

struct finder {
	struct sql_session *session;
	struct why_chain *chain;
	uint64_t begin;
	char *seq, *resource; /* of the object whose fact is to be explained, and its event */
};

/* ---- one row ---- */

struct first_row {
	char **texts; /* for the columns; "" for NULL */
	size_t count;
	bool found;
};

static int take_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct first_row *row = context;

	(void)err;
	for (size_t i = 0; i < row->count && !row->found; i++) {
		if (i >= count || v[i].type == SQL_NULL)
			row->texts[i] = xstrdup("");
		else if (v[i].type == SQL_INTEGER)
			row->texts[i] = xasprintf("%lld", (long long)v[i].integer);
		else
			row->texts[i] = v[i].bytes.ptr ? slice_dup(v[i].bytes) : xstrdup("");
	}
	row->found = true;
	return 0;
}

/* The first row of the statement: 1 with its columns as texts, which the caller frees; 0 for none. */
static int find_row(struct sql_session *s, const char *sql, char **texts, size_t count, struct err *err)
{
	struct first_row row = {.texts = texts, .count = count};
	const struct sql_sink sink = {.row = take_row, .context = &row};
	int rc = sql_session_run(s, slice_of(sql), &sink, err);

	for (size_t i = 0; i < count && rc && row.found; i++) {
		free(texts[i]);
		texts[i] = NULL;
	}
	return rc ? rc : row.found;
}

static void free_row(char **texts, size_t count)
{
	for (size_t i = 0; i < count; i++)
		free(texts[i]);
}

/* ---- what the next statements are about ---- */

#define COLUMNS "resource, namespace, name, uid, time, origin, seq, time_ns, rv"

static const char subject_sql[] =
	"SELECT e.resource, e.namespace, e.name, e.uid, e.time, e.origin, e.seq, e.time_ns, "
	"CASE WHEN e.origin = 'watch' THEN e.rv END, coalesce(f.seq, e.seq), coalesce(f.time_ns, e.time_ns), "
	"CASE WHEN coalesce(f.origin, e.origin) = 'watch' THEN coalesce(f.rv, e.rv) END, "
	"(SELECT jget(r.value, '$.uid') FROM json_each(coalesce(jget(e.object, '$.metadata.ownerReferences'), '[]')) AS r "
	"ORDER BY jget(r.value, '$.controller') DESC LIMIT 1), jget(e.object, '$.spec.nodeName') "
	"FROM " EVENT_OR_STATE(
		COLUMNS ", object", ":at") " AS e LEFT JOIN events AS f ON f.seq = "
					   "(SELECT min(seq) FROM events WHERE uid = e.uid AND seq <= e.seq)";

/* The columns of that statement, and the parameters that they become. */
enum subject {
	RESOURCE,
	NAMESPACE,
	NAME,
	UID,
	TIME,
	ORIGIN,
	SEQ,
	NS,
	RV,
	FIRST,
	FIRST_NS,
	FIRST_RV,
	OWNER_UID,
	NODE,
	SUBJECT_COLUMNS
};

static const char *const parameters[SUBJECT_COLUMNS] = {
	[RESOURCE] = "resource",
	[NAMESPACE] = "namespace",
	[NAME] = "name",
	[UID] = "uid",
	[SEQ] = "seq",
	[NS] = "ns",
	[RV] = "rv",
	[FIRST] = "first",
	[FIRST_NS] = "first_ns",
	[FIRST_RV] = "first_rv",
	[OWNER_UID] = "owner_uid",
	[NODE] = "node",
};

static int find_subject(struct sql_session *s, const char *seq, char *texts[SUBJECT_COLUMNS], struct err *err)
{
	int rc;

	sql_session_set(s, "at", seq);
	rc = find_row(s, subject_sql, texts, SUBJECT_COLUMNS, err);
	return rc < 0 ? rc : rc ? 0 : err_set(err, ERR_CORRUPT, "the tape has no event %s", seq);
}

static void set_subject(struct finder *f, char *const texts[SUBJECT_COLUMNS])
{
	for (size_t i = 0; i < SUBJECT_COLUMNS; i++) {
		if (parameters[i])
			sql_session_set(f->session, parameters[i], texts[i]);
	}
	free(f->seq);
	free(f->resource);
	f->seq = xstrdup(texts[SEQ]);
	f->resource = xstrdup(texts[RESOURCE]);
}

/* The next facts are those of that event's object. */
static int choose_subject(struct finder *f, const char *seq, struct err *err)
{
	char *texts[SUBJECT_COLUMNS] = {NULL};
	int rc = find_subject(f->session, seq, texts, err);

	if (!rc)
		set_subject(f, texts);
	free_row(texts, SUBJECT_COLUMNS);
	return rc;
}

/* ---- who, and what was not seen ---- */

static const char request_sql[] = "SELECT user, user_agent, verb FROM audit WHERE seq = :seq";
/* What is deleted with a grace period or finalizers was asked to go some events before. */
static const char delete_sql[] = "SELECT user, user_agent, verb FROM audit WHERE uid = :uid AND seq <= :seq "
				 "AND (verb LIKE 'delete%' OR subresource = 'eviction') ORDER BY seq LIMIT 1";
static const char manager_sql[] = "SELECT manager FROM changes WHERE seq = :seq AND field = :field";
static const char gap_sql[] =
	"SELECT 'not watched from ' || substr(g.begin, 1, 23) || 'Z to ' || coalesce(substr(g.end, 1, 23) || 'Z', 'the end') || ' (' "
	"|| g.reason || '): when it happened, and perhaps why, is not on the tape' FROM events AS e, gaps AS g WHERE e.seq = :seq "
	"AND e.origin IN ('relist', 'inferred') AND g.resource = e.resource AND g.apigroup = e.apigroup AND (g.namespace = '' OR g.namespace = e.namespace) "
	"AND g.begin_seq < e.seq AND g.begin_ns <= e.time_ns ORDER BY g.begin_ns DESC LIMIT 1";

static bool states(const struct why_step *step, const char *fact)
{
	return step->rule->next && strcmp(step->rule->next, fact) == 0;
}

/* What a container wrote before it died, if that is the step. */
static int step_look_at_log(struct sql_session *s, struct why_step *step, struct err *err)
{
	char *found[2] = {NULL};
	int rc;

	if (!states(step, "crash") && !states(step, "oom"))
		return 0;
	rc = find_row(s, why_log_sql, found, COUNT_OF(found), err);
	if (rc > 0) {
		step->log = found[0];
		step->no_log = found[1];
	}
	return rc < 0 ? rc : 0;
}

static int step_look(struct sql_session *s, struct why_step *step, struct err *err)
{
	char *who[3] = {NULL, NULL, NULL}, *one;
	int rc = find_row(s, states(step, "deleted") ? delete_sql : request_sql, who, COUNT_OF(who), err);

	if (rc > 0) {
		step->user = who[0];
		step->user_agent = who[1];
		step->verb = who[2];
	}
	sql_session_set(s, "field", step->field);
	if (rc >= 0 && (rc = find_row(s, manager_sql, &one, 1, err)) > 0)
		step->manager = one;
	if (rc >= 0 && (rc = find_row(s, gap_sql, &one, 1, err)) > 0)
		step->gap = one;
	return rc < 0 ? rc : step_look_at_log(s, step, err);
}

static void fill_unknown(struct why_step *step)
{
	char **const texts[] = {&step->user, &step->user_agent, &step->verb, &step->manager, &step->gap,
		&step->log, &step->no_log};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		if (!*texts[i])
			*texts[i] = xstrdup("");
	}
}

/* ---- steps ---- */

static void step_release(struct why_step *step)
{
	char *const texts[] = {step->time, step->resource, step->namespace, step->name, step->uid,
		step->origin, step->text, step->field, step->user, step->user_agent, step->verb,
		step->manager, step->gap, step->log, step->no_log};

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		free(texts[i]);
}

static bool is_told(const struct why_chain *c, const struct why_rule *rule, int64_t seq)
{
	for (size_t i = 0; i < c->count; i++) {
		if (c->steps[i].seq == seq && c->steps[i].rule == rule)
			return true;
	}
	return false;
}

static bool stays(const struct why_rule *rule)
{
	return rule->next && *rule->next == '^';
}

/* found: seq, text, field; the step takes the last two. */
static int add_step(struct finder *f, const struct why_rule *rule, char *found[3], struct err *err)
{
	char *texts[SUBJECT_COLUMNS] = {NULL}, *before = stays(rule) ? xstrdup(f->seq) : NULL;
	struct why_step *step;
	int rc = find_subject(f->session, found[0], texts, err);

	if (!rc)
		set_subject(f, texts);
	sql_session_set(f->session, "told", found[0]);
	f->chain->steps = xgrow(f->chain->steps, f->chain->count, sizeof(*step));
	step = &f->chain->steps[f->chain->count++];
	*step = (struct why_step){.rule = rule,
		.seq = strtoll(found[0], NULL, 10),
		.time = texts[TIME],
		.resource = texts[RESOURCE],
		.namespace = texts[NAMESPACE],
		.name = texts[NAME],
		.uid = texts[UID],
		.origin = texts[ORIGIN],
		.text = found[1],
		.field = found[2]};
	for (int i = SEQ; i < SUBJECT_COLUMNS; i++)
		free(texts[i]);
	free(found[0]);
	if (!rc)
		rc = step_look(f->session, step, err);
	fill_unknown(step);
	if (!rc && before)
		rc = choose_subject(f, before, err);
	free(before);
	return rc;
}

static bool is_rule_for(const struct why_rule *rule, const char *fact, const char *resource)
{
	return strcmp(rule->fact, fact) == 0 && (!rule->resource || strcmp(rule->resource, resource) == 0);
}

/* The first rule that has an answer: 1 with the step added, 0 when none has. */
static int explain(struct finder *f, const char *fact, struct err *err)
{
	char *found[3], *resource = xstrdup(f->resource);
	int rc = 0;

	for (const struct why_rule *rule = why_rules; rule->fact && !rc; rule++) {
		if (!is_rule_for(rule, fact, resource))
			continue;
		rc = find_row(f->session, rule->sql, found, COUNT_OF(found), err);
		if (rc < 0) {
			rc = err_prefix(err, rc, "rule '%s'", rule->name);
		} else if (rc > 0 && (!*found[0] || is_told(f->chain, rule, strtoll(found[0], NULL, 10)))) {
			free_row(found, COUNT_OF(found));
			rc = 0;
		} else if (rc > 0) {
			rc = add_step(f, rule, found, err);
			rc = rc ? rc : 1;
		}
	}
	free(resource);
	return rc;
}

/* ---- the end ---- */

static bool is_from_outside(const struct why_step *step)
{
	return !*step->user || strncmp(step->user, "system:", strlen("system:")) != 0;
}

static const char *end_of(const struct why_step *last, uint64_t begin, bool *ret_known)
{
	bool is_deletion = last->rule->next && strcmp(last->rule->next, "deleted") == 0;

	*ret_known = true;
	if (!last->rule->next)
		return "nothing on the tape lies beyond that";
	if (*last->user && is_from_outside(last))
		return "it was asked for from outside";
	*ret_known = false;
	if (strcmp(last->rule->next, "made") == 0 &&
		(strcmp(last->origin, "list") == 0 || (uint64_t)last->seq <= begin))
		return "what was before the recording is not on the tape";
	if (*last->user)
		return "why that program did so does not show on the tape";
	if (is_deletion)
		return "who deleted it is not known: an object does not say that, the audit log does (kubetape audit)";
	if (strncmp(last->manager, "kubectl", strlen("kubectl")) == 0) {
		*ret_known = true;
		return "it was asked for with kubectl; by whom, the audit log would say (kubetape audit)";
	}
	if (*last->manager)
		return "why that manager did so does not show on the tape; the audit log would say who it was (kubetape audit)";
	return "what made it so does not show on the tape";
}

/* The facts of a live object are looked for one after the other, what is made or changed is so by somebody, and an Event
 * has told already: there another one would only be beside the point. */
static bool is_beside_events(const char *fact)
{
	static const char *const facts[] = {"start", "made", "changed", "told", "warned", "lacking"};

	for (size_t i = 0; i < COUNT_OF(facts); i++) {
		if (strcmp(fact, facts[i]) == 0)
			return true;
	}
	return false;
}

/* What explains the fact, by a rule of its own or by what Kubernetes says. */
static int find_cause(struct finder *f, const char *fact, struct err *err)
{
	int rc = explain(f, fact, err);

	return rc || is_beside_events(fact) ? rc : explain(f, "*", err);
}

static int find_chain(struct finder *f, struct err *err)
{
	struct why_chain *c = f->chain;
	const char *fact = "start";
	int rc = 1;

	while (fact && rc > 0 && c->count < STEPS_MAX) {
		rc = find_cause(f, fact, err);
		if (rc > 0) {
			const struct why_rule *last = c->steps[c->count - 1].rule;

			fact = stays(last) ? last->next + 1 : last->next;
		}
	}
	if (rc >= 0 && !c->count)
		return err_set(err, ERR_NOT_FOUND, "the tape tells nothing of it");
	if (rc >= 0)
		c->end = xstrdup(end_of(&c->steps[c->count - 1], f->begin, &c->is_known));
	return rc < 0 ? rc : 0;
}

static void set_number(struct sql_session *s, const char *name, uint64_t value)
{
	char number[24];

	snprintf(number, sizeof(number), "%llu", (unsigned long long)value);
	sql_session_set(s, name, number);
}

/* Nor can it have one of what was never listed. */
static int say_not_found(struct sql_session *s, bool by_uid, struct err *err)
{
	static const char sql[] =
		"SELECT 1 FROM coverage WHERE certainty = 'unlisted' AND apigroup = :apigroup "
		"AND resource = :resource AND (namespace = '' OR coalesce(:namespace, '') IN ('', namespace))";
	char *found[1] = {NULL};
	int rc = by_uid ? 0 : find_row(s, sql, found, COUNT_OF(found), err);

	free_row(found, COUNT_OF(found));
	if (rc < 0)
		return rc;
	return err_set(err, ERR_NOT_FOUND, "the tape has no event of it by then%s",
		rc > 0 ? "; its resource was never listed, and what there was is not known" : "");
}

/* The newest event of the object by then; the caller frees it. */
static int find_last_event(
	struct sql_session *s, bool by_uid, const char *namespace, char **ret_seq, struct err *err)
{
	char *where = xasprintf(
		"%s%s", by_uid ? "uid = :uid" : by_name, *namespace ? " AND namespace = :namespace" : "");
	char *sql = xasprintf(
		"WITH it AS MATERIALIZED (SELECT seq, namespace FROM events WHERE seq <= :until AND %s "
		"UNION ALL SELECT seq, namespace FROM objects(:begin) WHERE %s) "
		"SELECT max(seq), count(DISTINCT namespace), (SELECT group_concat(namespace, ', ') FROM "
		"(SELECT DISTINCT namespace FROM it ORDER BY namespace LIMIT 5)) FROM it",
		where, where);
	char *found[3] = {NULL};
	int rc = find_row(s, sql, found, COUNT_OF(found), err);

	free(sql);
	free(where);
	if (rc < 0)
		return rc;
	rc = 0;
	if (!*found[0])
		rc = say_not_found(s, by_uid, err);
	else if (!by_uid && strtol(found[1], NULL, 10) > 1)
		rc = err_set(err, ERR_USAGE, "namespaces %s%s have one: choose with --namespace", found[2],
			strtol(found[1], NULL, 10) > 5 ? ", ..." : "");
	if (!rc) {
		*ret_seq = found[0];
		found[0] = NULL;
	}
	free_row(found, COUNT_OF(found));
	return rc;
}

int why_find(struct sql_session *s, bool by_uid, const char *namespace, uint64_t begin, uint64_t until,
	struct why_chain *ret, struct err *err)
{
	struct finder f = {.session = s, .chain = ret, .begin = begin};
	char *texts[SUBJECT_COLUMNS] = {NULL}, *seq = NULL;
	int rc;

	*ret = (struct why_chain){0};
	set_number(s, "begin", begin);
	set_number(s, "until", until);
	sql_session_set(s, "namespace", namespace);
	rc = find_last_event(s, by_uid, namespace, &seq, err);
	if (!rc)
		rc = find_subject(s, seq, texts, err);
	if (!rc) {
		set_subject(&f, texts);
		ret->resource = xstrdup(texts[RESOURCE]);
		ret->namespace = xstrdup(texts[NAMESPACE]);
		rc = find_chain(&f, err);
	}
	free_row(texts, SUBJECT_COLUMNS);
	free(f.seq);
	free(f.resource);
	free(seq);
	if (rc)
		why_release(ret);
	return rc;
}

void why_release(struct why_chain *c)
{
	for (size_t i = 0; i < c->count; i++)
		step_release(&c->steps[i]);
	free(c->steps);
	free(c->resource);
	free(c->namespace);
	free(c->end);
	*c = (struct why_chain){0};
}
