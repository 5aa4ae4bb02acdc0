/* gap_spec.c: see gap_spec.h. */
#include "replayer/fault/gap_spec.h"

#include "replayer/fault/fault_keys.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/similar.h"
#include "schema/sql/predicate.h"

#include <errno.h>
#include <stdlib.h>

struct spec {
	const char *text; /* the whole, for messages */
	struct fault_rule rule;
	bool has_stale, has_hold, has_await;
	struct err *err;
};

const char gap_spec_words[] =
	"end cut fin rst goaway rst_stream stall error restart pause burst echo slow as_of write_error write_reset write_late refuse http wait "
	"stale hold client ns requests compact wall after optional quiet since await write event";

static int bad(struct spec *s, const char *word, const char *expected)
{
	return err_set(
		s->err, ERR_USAGE, "bad gap '%.200s': found '%.60s', expected %s", s->text, word, expected);
}

static int twice(struct spec *s, const char *word)
{
	return err_set(s->err, ERR_USAGE, "bad gap '%.200s': '%.*s' is there twice", s->text,
		(int)strcspn(word, "="), word);
}

static bool parse_count(const char *text, const char *suffix, int64_t *ret)
{
	char *end;
	long long n;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	n = strtoll(text, &end, 10);
	if (errno || strcmp(end, suffix) != 0)
		return false;
	*ret = n;
	return true;
}

static int read_when(struct spec *s, const char *word)
{
	struct fault_when *w = &s->rule.when;

	w->place = xasprintf("gap '%.200s'", s->text);
	if (*word == '#') {
		w->trigger = FAULT_AT_EVENT;
		return parse_count(word + 1, "", &w->nth) && w->nth > 0 ? 0 : bad(s, word, "#1, #2, ...");
	}
	if (!*word)
		return bad(s, word, "a position such as '+30s', or '#1'");
	w->trigger = FAULT_AT_POSITION;
	w->at = xstrdup(word);
	return 0;
}

static int read_length(struct spec *s, const char *word)
{
	if (parse_count(word, "ev", &s->rule.for_events) && s->rule.for_events > 0)
		return 0;
	if (duration_parse(word, &s->rule.for_ns, NULL))
		return bad(s, word, "a duration such as '10s', or '3ev' for three events");
	return 0;
}

static int read_event(struct spec *s, const char *expression)
{
	struct predicate *p;
	struct err err;

	if (predicate_compile(slice_of(expression), NULL, &p, &err))
		return err_set(s->err, ERR_USAGE, "bad gap '%.200s': bad expression: %s", s->text, err.text);
	predicate_free(p);
	free(s->rule.when.event);
	s->rule.when.event = xstrdup(expression);
	return 0;
}

/* "name" or "name=value": the value, "" without one, NULL when the word is another. */
static const char *value_of(const char *word, const char *name)
{
	size_t len = strlen(name);

	if (strncmp(word, name, len) != 0 || (word[len] && word[len] != '='))
		return NULL;
	return word[len] ? word + len + 1 : word + len;
}

static bool is_short_word(int act)
{
	return fault_ends_streams(act) || fault_answers_requests(act) || act == FAULT_WRITE_ERROR ||
	       act == FAULT_WRITE_RESET || act == FAULT_BURST || act == FAULT_PAUSE || act == FAULT_RESTART;
}

/* 1 when the word says how watches end or what requests get, 0 when it does not. */
static int read_act(struct spec *s, const char *word)
{
	for (int act = 0; act < FAULT_DO_COUNT; act++) {
		const char *value = is_short_word(act) ? value_of(word, fault_do_word(act)) : NULL;
		bool is_answer = fault_answers_requests(act);
		struct fault_what *what = is_answer ? &s->rule.during : &s->rule.what;
		int64_t *number = act == FAULT_CUT ? &what->bytes : &what->code;
		bool needs = act == FAULT_CUT || act == FAULT_HTTP || act == FAULT_WRITE_ERROR;
		bool takes = needs || act == FAULT_ERROR || act == FAULT_RST_STREAM;

		if (!value)
			continue;
		if (what->act != FAULT_UNSAID)
			return bad(s, word, "one such word only");
		if ((*value && !takes) || (!*value && needs) || (*value && !parse_count(value, "", number)))
			return bad(s, word, takes ? "a number after '='" : "no value");
		what->act = act;
		return 1;
	}
	return 0;
}

static int read_pattern(struct spec *s, const char *word, const char *name, bool may_be_empty, char **to)
{
	const char *value = value_of(word, name);

	if (!value)
		return 0;
	if (strchr(word, '=') == NULL || (!*value && !may_be_empty))
		return bad(s, word, "a value after '='");
	if (*to)
		return twice(s, word);
	*to = xstrdup(value);
	return 1;
}

/* The acts whose word says how much: "echo=4s", "echo=3ev", "slow=5s", "write_late=1s", "as_of=seq:2". */
static int read_measured_act(struct spec *s, const char *word)
{
	static const int acts[] = {FAULT_ECHO, FAULT_SLOW, FAULT_WRITE_LATE, FAULT_STALE_VIEW};
	static const char *const names[] = {"echo", "slow", "write_late", "as_of"};
	struct fault_what *what = &s->rule.what;
	const char *value = NULL;
	size_t i = 0;

	while (i < COUNT_OF(acts) && !(value = value_of(word, names[i])))
		i++;
	if (!value)
		return 0;
	if (what->act != FAULT_UNSAID)
		return bad(s, word, "one such word only");
	what->act = acts[i];
	if (acts[i] == FAULT_STALE_VIEW && *value)
		what->as_of = xstrdup(value);
	else if (acts[i] == FAULT_STALE_VIEW)
		return bad(s, word, "a position after '='");
	else if (acts[i] == FAULT_ECHO && parse_count(value, "ev", &what->count) && what->count > 0)
		return 1;
	else if (duration_parse(value, &what->by_ns, NULL))
		return bad(s, word, "a duration after '='");
	return 1;
}

static int read_write(struct spec *s, const char *word)
{
	struct fault_when *w = &s->rule.when;
	struct fault_kind_of_write kind;
	struct err err;
	int rc = read_pattern(s, word, "write", false, &w->write);

	if (rc <= 0)
		return rc;
	if (fault_write_parse(w->write, &kind, &err))
		return err_set(s->err, ERR_USAGE, "bad gap '%.200s': %s", s->text, err.text);
	fault_kind_of_write_release(&kind);
	return 1;
}

static int read_requests(struct spec *s, const char *word)
{
	const char *value = value_of(word, "requests");

	if (!value)
		return 0;
	if (fault_word_index(FAULT_REQUEST_WORDS, slice_of(value)) < 0)
		return bad(s, word, "one of " FAULT_REQUEST_WORDS " after '='");
	fault_texts_add(&s->rule.where.requests, xstrdup(value));
	return 1;
}

/* 1 when it is such a word, 0 when it is not. */
static int read_duration(struct spec *s, const char *word, const char *name, bool *has, int64_t *to)
{
	const char *value = value_of(word, name);

	if (!value)
		return 0;
	if (*has)
		return twice(s, word);
	*has = true;
	return duration_parse(value, to, NULL) ? bad(s, word, "a duration after '='") : 1;
}

static int read_flag(struct spec *s, const char *word)
{
	struct fault_rule *r = &s->rule;
	bool again;

	if (strcmp(word, "compact") == 0) {
		again = r->compaction;
		r->compaction = true;
	} else if (strcmp(word, "optional") == 0) {
		again = r->optional;
		r->optional = true;
	} else if (strcmp(word, "quiet") == 0) {
		again = r->what.until_quiet;
		r->what.until_quiet = true;
	} else if (strcmp(word, "wall") == 0) {
		again = r->clock == FAULT_WALL;
		r->clock = FAULT_WALL;
	} else if (strcmp(word, "after") == 0) {
		again = r->when.moment == FAULT_AFTER;
		r->when.moment = FAULT_AFTER;
	} else {
		return 0;
	}
	return again ? twice(s, word) : 1;
}

static int no_word(struct spec *s, const char *word)
{
	char *meant = similar_in((struct slice){word, strcspn(word, "=")}, gap_spec_words);
	char *expected = xasprintf("a resource such as 'pods', or one of the words of --gap%s%s%s",
		meant ? "; did you mean '" : "", meant ? meant : "", meant ? "'?" : "");

	bad(s, word, expected);
	free(expected);
	free(meant);
	return ERR_USAGE;
}

static int read_resource(struct spec *s, const char *word)
{
	struct fault_texts *to = &s->rule.where.resource;

	if (!*word || word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789.-")])
		return no_word(s, word);
	for (size_t i = 0; i < to->count; i++) {
		if (strcmp(to->items[i], word) == 0)
			return twice(s, word);
	}
	fault_texts_add(to, xstrdup(word));
	return 1;
}

static int read_word(struct spec *s, const char *word)
{
	int rc = read_act(s, word);

	if (rc == 0)
		rc = read_measured_act(s, word);
	if (rc == 0)
		rc = read_write(s, word);
	if (rc == 0)
		rc = read_requests(s, word);
	if (rc == 0)
		rc = read_pattern(s, word, "since", false, &s->rule.when.since);
	if (rc == 0)
		rc = read_duration(s, word, "await", &s->has_await, &s->rule.when.await_ns);
	if (rc == 0)
		rc = read_duration(s, word, "stale", &s->has_stale, &s->rule.stale_ns);
	if (rc == 0)
		rc = read_duration(s, word, "hold", &s->has_hold, &s->rule.hold_ns);
	if (rc == 0)
		rc = read_pattern(s, word, "client", false, &s->rule.where.client);
	if (rc == 0)
		rc = read_pattern(s, word, "ns", true, &s->rule.where.namespace);
	if (rc == 0)
		rc = read_flag(s, word);
	if (rc == 0)
		rc = read_resource(s, word);
	return rc < 0 ? rc : 0;
}

/* Cuts the words off one by one; the last one may be an expression. */
static int read_words(struct spec *s, char *rest)
{
	int rc = 0;

	for (size_t i = 0; rest && rc == 0; i++) {
		char *word = rest, *comma = strchr(rest, ',');

		if (i >= 2 && strncmp(word, "event=", 6) == 0)
			return read_event(s, word + 6);
		if (comma)
			*comma = 0;
		rest = comma ? comma + 1 : NULL;
		if (i == 0)
			rc = read_when(s, word);
		else
			rc = i == 1 ? read_length(s, word) : read_word(s, word);
		if (rc == 0 && i == 0 && !rest)
			rc = bad(s, "", "a length after the position");
	}
	return rc;
}

/* '#N' counts events or writes, and nothing else does. */
static int check_trigger(struct spec *s)
{
	struct fault_when *w = &s->rule.when;
	bool counts = w->trigger == FAULT_AT_EVENT;

	if (!counts && (w->event || w->write))
		return bad(s, w->event ? "event=" : "write=", "'#N' at the beginning with it");
	if (!counts && w->moment == FAULT_AFTER)
		return bad(s, "after", "it with '#N' only: a position is between two events");
	if (counts && w->event && w->write)
		return bad(s, "write=", "either it or 'event='");
	if (counts && !w->event && !w->write)
		return bad(s, "", "'event=EXPRESSION' at the end, or 'write=VERB RESOURCE', with '#N'");
	if (w->write)
		w->trigger = FAULT_AT_WRITE;
	else if (w->since)
		return bad(s, "since", "it with 'write=' only");
	return 0;
}

int gap_spec_parse(const char *text, size_t number, struct fault_rule *ret, struct err *err)
{
	struct spec s = {.text = text, .rule = fault_rule_default(), .err = err};
	char *copy = xstrdup(text);
	int rc;

	s.rule.name = xasprintf("gap %zu", number);
	s.rule.short_form = true;
	s.rule.where.place = xasprintf("bad gap '%.200s'", text);
	rc = read_words(&s, copy);
	free(copy);
	if (rc == 0)
		rc = check_trigger(&s);
	if (s.rule.what.act == FAULT_UNSAID)
		s.rule.what.act = FAULT_END;
	if (rc == 0) {
		rc = fault_rule_finish(&s.rule, number, err);
		if (rc < 0)
			err_prefix(err, rc, "bad gap '%.200s'", text);
	}
	if (rc < 0)
		fault_rule_release(&s.rule);
	else
		*ret = s.rule;
	return rc;
}
