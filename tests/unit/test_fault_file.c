/* test_fault_file.c: fault files and --gap: what is read, what is refused and where, and the schema. */
#include "replayer/fault/fault_file.h"
#include "replayer/fault/fault_keys.h"
#include "replayer/fault/gap_spec.h"
#include "replayer/request/verb.h"
#include "schema/base/clock.h"
#include "tests/unit/fault_examples.h"

#define FAULT_SCHEMA "replayer/fault/fault-file.schema.json"

static struct fault_file parsed(const char *json)
{
	struct fault_file f = {0};

	ck_assert_ok(fault_file_parse(slice_of(json), "f.json", &f, &err), &err);
	return f;
}

START_TEST(file__is_read_into_rules)
{
	struct fault_file f = parsed(
		"{\"seed\": 7, \"recorded\": true, \"rules\": [\n"
		" {\"name\": \"n\\u00e9\", \"when\": {\"event\": \"type='DELETED'\", \"nth\": 3, \"every\": 2,\n"
		"   \"moment\": \"after\"}, \"where\": {\"resource\": [\"pods\", \"nodes\"], \"namespace\": \"\",\n"
		"   \"client\": \"m*\", \"credential\": \"t\", \"requests\": [\"watch\", \"get\"]},\n"
		"  \"what\": {\"do\": \"cut\", \"bytes\": 17}, \"for\": \"1m30s\", \"clock\": \"wall\",\n"
		"  \"during\": {\"do\": \"http\", \"code\": 503, \"retry_after\": \"2s\", \"message\": \"m\"},\n"
		"  \"compaction\": true, \"stale\": \"5s\", \"hold\": \"6s\", \"times\": 0, \"probability\": 0.5}]}");
	struct fault_rule *r = &f.rules[0];

	ck_assert_int_eq(f.seed, 7);
	ck_assert(f.recorded);
	ck_assert_uint_eq(f.count, 1);
	ck_assert_str_eq(r->name, "n\u00e9");
	ck_assert_int_eq(r->when.trigger, FAULT_AT_EVENT);
	ck_assert_str_eq(r->when.event, "type='DELETED'");
	ck_assert_int_eq(r->when.nth, 3);
	ck_assert_int_eq(r->when.every, 2);
	ck_assert_int_eq(r->when.moment, FAULT_AFTER);
	ck_assert_uint_eq(r->where.resource.count, 2);
	ck_assert_str_eq(r->where.resource.items[1], "nodes");
	ck_assert_str_eq(r->where.namespace, "");
	ck_assert_uint_eq(r->where.request_mask, 1u << FAULT_WATCH | 1u << FAULT_GET);
	ck_assert_int_eq(r->what.act, FAULT_CUT);
	ck_assert_int_eq(r->what.bytes, 17);
	ck_assert_int_eq(r->for_ns, 90 * NS_PER_S);
	ck_assert_int_eq(r->clock, FAULT_WALL);
	ck_assert_int_eq(r->during.act, FAULT_HTTP);
	ck_assert_int_eq(r->during.retry_after_ns, 2 * NS_PER_S);
	ck_assert_str_eq(r->during.message, "m");
	ck_assert(r->compaction);
	ck_assert_int_eq(r->stale_ns, 5 * NS_PER_S);
	ck_assert_int_eq(r->hold_ns, 6 * NS_PER_S);
	ck_assert_int_eq(r->times, 0);
	ck_assert(r->probability == 0.5);
	fault_file_release(&f);
}
END_TEST

START_TEST(file__leaves_open_what_is_the_same_for_all)
{
	struct fault_file f = parsed(
		"{\"rules\": [{\"when\": {\"at\": \"+30s\"}, \"what\": \"end\", \"for\": {\"events\": 3}},"
		"{\"when\": {\"at\": \"+30s\"}, \"what\": \"error\"},"
		"{\"when\": {\"event\": \"1\"}, \"what\": \"drop\"},"
		"{\"when\": {\"at\": \"+0s\"}, \"what\": \"drop\"},"
		"{\"when\": {\"at\": \"+0s\"}, \"what\": \"rst\", \"for\": \"3s\", \"where\": {\"resource\": \"pods\"}}]}");

	ck_assert_int_eq(f.seed, FAULT_SEED_DEFAULT);
	ck_assert_str_eq(f.rules[0].name, "rule 1");
	ck_assert_int_eq(f.rules[0].for_events, 3);
	ck_assert_int_eq(f.rules[0].during.act, FAULT_REFUSE);
	ck_assert_int_eq(f.rules[1].what.code, 410);
	ck_assert_int_eq(f.rules[1].for_ns, 0);
	ck_assert_int_eq(f.rules[2].for_ns, 0);
	ck_assert_int_eq(f.rules[3].for_ns, FAULT_FOREVER);
	ck_assert_int_eq(f.rules[4].during.act, FAULT_HTTP);
	ck_assert_int_eq(f.rules[4].during.code, 429);
	fault_file_release(&f);
}
END_TEST

#define RULE(rest) "{\"rules\": [\n  {\"when\": {\"at\": \"+1s\"}, " rest "}\n]}"

START_TEST(file__is_refused_with_line_column_and_what_was_expected)
{
	static const struct {
		const char *json, *sentence;
	} rows[] = {
		{"", "f.json, line 1, column 1: bad JSON: expected more"},
		{"{\n  \"rules\": [\n    {,}\n", "f.json, line 3, column 6: bad JSON: expected a key"},
		{"[]", "f.json, line 1, column 1: expected an object, found an array"},
		{"{}", "f.json, line 1, column 1: 'rules' is missing in this fault file"},
		{"{\"rules\": {}}", "f.json, line 1, column 11: expected an array of rules, found an object"},
		{"{\"rules\": [1]}", "f.json, line 1, column 12: expected an object, found a number"},
		{"{\"rules\": [], \"rules\": []}", "f.json, line 1, column 16: 'rules' is there twice"},
		{"{\"rules\": [],\n \"sede\": 1}",
			"f.json, line 2, column 3: unknown key 'sede' of fault file, expected one of: seed, recorded, "
			"rules"},
		{"{\"seed\": -1, \"rules\": []}",
			"f.json, line 1, column 10: -1 is out of range: expected 0 to 9223372036854775807"},
		{"{\"seed\": 1.5, \"rules\": []}",
			"f.json, line 1, column 10: expected an integer, found '1.5'"},
		{"{\"rules\": [{\"what\": \"end\"}]}",
			"f.json, line 1, column 12: 'when' is missing in this rule"},
		{RULE("\"waht\": \"end\""),
			"f.json, line 2, column 28: unknown key 'waht' of rule, expected one of: name, when, where, what, "
			"for, clock, during, compaction, stale, hold, times, probability, optional"},
		{RULE("\"what\": 3"),
			"f.json, line 2, column 35: expected a word or an object, found a number"},
		{RULE("\"what\": {\"bytes\": 3}"), "f.json, line 2, column 35: 'do' is missing"},
		{RULE("\"what\": \"cut\""), "f.json, line 2, column 35: 'cut' needs 'bytes'"},
		{RULE("\"what\": {\"do\": \"rst\", \"bytes\": 3}"),
			"f.json, line 2, column 35: 'bytes' does not go with 'rst'"},
		{RULE("\"what\": {\"do\": \"delay\", \"code\": 3}"),
			"f.json, line 2, column 35: 'code' does not go with 'delay', expected of: by jitter"},
		{RULE("\"what\": {\"do\": \"end\", \"do\": \"fin\"}"),
			"f.json, line 2, column 50: 'do' is there twice"},
		{RULE("\"what\": \"end\", \"for\": \"10 s\""),
			"f.json, line 2, column 49: bad duration '10 s': expected a number and unit such as 250ms, 1m30s or "
			"7d"},
		{RULE("\"what\": \"end\", \"for\": 10"),
			"f.json, line 2, column 49: expected a duration such as \"10s\" or {\"events\": 3}, found a number"},
		{RULE("\"what\": \"end\", \"for\": {\"events\": 0}"),
			"f.json, line 2, column 60: 0 is out of range: expected 1 to 9223372036854775807"},
		{RULE("\"what\": \"end\", \"during\": \"refuse\""),
			"f.json, line 2, column 3: 'during' says what requests get while it lasts, but there is no 'for'"},
		{RULE("\"what\": \"end\", \"for\": \"1s\", \"during\": \"goaway\""),
			"f.json, line 2, column 3: 'goaway' is nothing that a request can get: expected refuse, http, rst, "
			"fin, stall, wait or nothing"},
		{RULE("\"what\": \"refuse\", \"where\": {\"resource\": \"pods\"}"),
			"f.json, line 2, column 3: a refused connection has said nothing yet: 'refuse' goes without 'where', "
			"'http' with it"},
		{RULE("\"what\": {\"do\": \"http\", \"code\": 200}"),
			"f.json, line 2, column 3: bad code 200 in 'what': expected 400 to 599"},
		{RULE("\"what\": {\"do\": \"http\", \"code\": 503, \"retry_after\": \"500ms\"}"),
			"f.json, line 2, column 3: bad retry_after in 'what': expected whole seconds"},
		{RULE("\"what\": \"drop\", \"hold\": \"1s\""),
			"f.json, line 2, column 3: 'hold' waits for watches, but 'drop' ends none"},
		{RULE("\"what\": \"end\", \"times\": 2"),
			"f.json, line 2, column 3: 'times' is 2, but a position comes once"},
		{RULE("\"what\": {\"do\": \"stale_view\", \"before_write\": 1}"),
			"f.json, line 2, column 3: 'before_write' counts the writes that followed an event: it needs 'as_of'"},
		{RULE("\"what\": \"nothing\""),
			"f.json, line 2, column 3: nothing would happen: expected compaction, stale or during"},
		{RULE("\"what\": \"end\", \"probability\": 0"),
			"f.json, line 2, column 57: 0 is out of range: expected above 0, at most 1"},
		{RULE("\"what\": \"end\", \"compaction\": 1"),
			"f.json, line 2, column 56: expected true or false, found a number"},
		{RULE("\"what\": \"end\", \"where\": {\"requests\": \"put\"}"),
			"f.json, line 2, column 64: unknown word 'put', expected one of: list watch get write other"},
		{RULE("\"what\": \"end\", \"where\": {\"resource\": []}"),
			"f.json, line 2, column 64: expected at least one string"},
		{"{\"rules\": [{\"when\": {}, \"what\": \"end\"}]}",
			"f.json, line 1, column 21: expected one of the keys: at, event, connection, write"},
		{"{\"rules\": [{\"when\": {\"at\": \"+1s\", \"nth\": 2}, \"what\": \"end\"}]}",
			"f.json, line 1, column 21: 'nth' does not go with 'at'"},
		{"{\"rules\": [{\"when\": {\"at\": \"+1s\", \"event\": \"1\"}, \"what\": \"end\"}]}",
			"f.json, line 1, column 21: 'event' does not go with 'at'"},
		{"{\"rules\": [{\"when\": {\"event\": \"nmae='x'\"}, \"what\": \"end\"}]}",
			"f.json, line 1, column 31: bad expression: no such column: nmae"},
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct fault_file f = {0};

		ck_assert_msg(fault_file_parse(slice_of(rows[i].json), "f.json", &f, &err) == ERR_USAGE, "%s",
			rows[i].json);
		ck_assert_str_eq(err.text, rows[i].sentence);
		ck_assert_ptr_null(f.rules);
	}
}
END_TEST

START_TEST(file__is_refused_with_all_the_words_when_one_is_unknown)
{
	struct fault_file f = {0};
	char expected[512] = "f.json, line 2, column 35: unknown word 'explode', expected one of:";
	size_t n = strlen(expected);

	for (int act = 0; act < FAULT_DO_COUNT && n < sizeof(expected); act++)
		n += (size_t)snprintf(expected + n, sizeof(expected) - n, " %s", fault_do_word(act));
	ck_assert_int_eq(
		fault_file_parse(slice_of(RULE("\"what\": \"explode\"")), "f.json", &f, &err), ERR_USAGE);
	ck_assert_str_eq(err.text, expected);
}
END_TEST

START_TEST(write__has_a_word_for_each_verb_that_writes)
{
	unsigned next = 0;

	for (enum verb verb = VERB_NONE; verb < VERB_COUNT; verb++) {
		struct fault_kind_of_write w;

		if (!verb_is_write(verb))
			continue;
		ck_assert_ok(fault_write_parse(verb_name(verb), &w, &err), &err);
		ck_assert_uint_eq(w.verbs, 1u << next);
		ck_assert_int_eq(verb_fault_verb(verb), next);
		next++;
		fault_kind_of_write_release(&w);
	}
	ck_assert_uint_eq(next, FAULT_VERBS);
}
END_TEST

START_TEST(file__takes_no_more_than_64_rules)
{
	struct fault_file f = {0};
	struct buf json;

	buf_init(&json, LIMIT_CONFIG_BYTES);
	ck_assert_int_eq(buf_printf(&json, &err, "{\"rules\": ["), 0);
	for (int i = 0; i < FAULT_RULES_MAX + 1; i++)
		ck_assert_int_eq(buf_printf(&json, &err, "%s\n{\"when\":{\"at\":\"+1s\"},\"what\":\"end\"}",
					 i ? "," : ""),
			0);
	ck_assert_int_eq(buf_printf(&json, &err, "]}"), 0);
	ck_assert_int_eq(fault_file_parse(buf_slice(&json), "f.json", &f, &err), ERR_USAGE);
	ck_assert_str_eq(err.text, "f.json, line 66, column 1: more than 64 faults");
	buf_release(&json);
}
END_TEST

static void write_and_read(const struct fault_file *f)
{
	struct fault_file again = {0};
	struct buf first, second;

	buf_init(&first, LIMIT_CONFIG_BYTES);
	buf_init(&second, LIMIT_CONFIG_BYTES);
	ck_assert_ok(fault_file_write(f, &first, &err), &err);
	ck_assert_ok(fault_file_parse(buf_slice(&first), "written", &again, &err), &err);
	ck_assert_ok(fault_file_write(&again, &second, &err), &err);
	ck_assert(slice_equal(buf_slice(&first), buf_slice(&second)));
	ck_assert_uint_eq(again.count, f->count);
	for (size_t i = 0; i < f->count; i++) {
		const struct fault_rule *a = &f->rules[i], *b = &again.rules[i];

		ck_assert_int_eq(a->what.act, b->what.act);
		ck_assert_int_eq(a->during.act, b->during.act);
		ck_assert_int_eq(a->for_ns, b->for_ns);
		ck_assert_int_eq(a->when.trigger, b->when.trigger);
		ck_assert_uint_eq(a->where.request_mask, b->where.request_mask);
	}
	buf_release(&first);
	buf_release(&second);
	fault_file_release(&again);
}

static void check_example(struct slice json)
{
	struct fault_file f = {0};

	ck_assert_ok(fault_file_parse(json, "FAULTS.md", &f, &err), &err);
	write_and_read(&f);
	fault_file_release(&f);
}

START_TEST(examples_of_the_documentation__are_read_and_written)
{
	ck_assert_uint_ge(each_example(check_example), 8);
}
END_TEST

START_TEST(documentation__explains_every_key_and_word)
{
	static const struct fault_keys *const all[] = {
		&fault_file_keys, &fault_rule_keys, &fault_when_keys, &fault_where_keys, &fault_what_keys};
	struct buf text;
	char quoted[40];

	read_whole("replayer/fault/FAULTS.md", &text);
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		for (size_t k = 0; k < all[i]->count; k++) {
			snprintf(quoted, sizeof(quoted), "`%s`", all[i]->keys[k].name);
			if (all[i]->keys[k].kind != KEY_IGNORED)
				ck_assert_msg(memmem(text.ptr, text.len, quoted, strlen(quoted)),
					"FAULTS.md does not say what %s is", quoted);
		}
	}
	for (int act = 0; act < FAULT_DO_COUNT; act++) {
		snprintf(quoted, sizeof(quoted), "`%s`", fault_do_word(act));
		ck_assert_msg(memmem(text.ptr, text.len, quoted, strlen(quoted)),
			"FAULTS.md does not say what %s does", quoted);
	}
	buf_release(&text);
}
END_TEST

static void write_schema(const struct buf *schema)
{
	FILE *file = fopen(FAULT_SCHEMA, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(schema->ptr, 1, schema->len, file), schema->len);
	ck_assert_int_eq(fclose(file), 0);
}

START_TEST(schema__is_the_one_in_the_repository)
{
	struct buf written, kept;

	buf_init(&written, LIMIT_CONFIG_BYTES);
	ck_assert_ok(fault_schema_write(&written, &err), &err);
	if (getenv("KUBETAPE_WRITE_SCHEMA"))
		write_schema(&written);
	read_whole(FAULT_SCHEMA, &kept);
	ck_assert_msg(slice_equal(buf_slice(&written), buf_slice(&kept)), FAULT_SCHEMA
		" is not what fault_schema_write writes: `make fault-schema` brings it up to date");
	buf_release(&written);
	buf_release(&kept);
}
END_TEST

static struct fault_rule gap(const char *text)
{
	struct fault_rule r;

	ck_assert_ok(gap_spec_parse(text, 1, &r, &err), &err);
	return r;
}

START_TEST(gap__is_read_as_the_rule_it_stands_for)
{
	struct fault_rule r = gap("+30s,10s,rst,compact,pods");
	struct fault_file f = {.seed = FAULT_SEED_DEFAULT};

	ck_assert_str_eq(r.name, "gap 1");
	ck_assert_str_eq(r.when.at, "+30s");
	ck_assert_int_eq(r.for_ns, 10 * NS_PER_S);
	ck_assert_int_eq(r.what.act, FAULT_RST);
	ck_assert_int_eq(r.during.code, 429);
	ck_assert(r.compaction);
	ck_assert_str_eq(r.where.resource.items[0], "pods");
	ck_assert_ok(fault_file_add(&f, &r, &err), &err);
	r = gap("#2,3ev,cut=17,http=503,hold=30s,stale=5s,wall,after,client=m*,ns=,deployments.apps,pods,"
		"event=type IN ('ADDED','DELETED')");
	ck_assert_int_eq(r.when.trigger, FAULT_AT_EVENT);
	ck_assert_str_eq(r.when.event, "type IN ('ADDED','DELETED')");
	ck_assert_int_eq(r.when.nth, 2);
	ck_assert_int_eq(r.when.moment, FAULT_AFTER);
	ck_assert_int_eq(r.for_events, 3);
	ck_assert_int_eq(r.what.act, FAULT_CUT);
	ck_assert_int_eq(r.what.bytes, 17);
	ck_assert_int_eq(r.during.code, 503);
	ck_assert_int_eq(r.clock, FAULT_WALL);
	ck_assert_int_eq(r.hold_ns - r.stale_ns, 25 * NS_PER_S);
	ck_assert_str_eq(r.where.client, "m*");
	ck_assert_str_eq(r.where.namespace, "");
	ck_assert_uint_eq(r.where.resource.count, 2);
	ck_assert_ok(fault_file_add(&f, &r, &err), &err);
	r = gap("2026-11-21T08:44:17Z,1m30s");
	ck_assert_int_eq(r.what.act, FAULT_END);
	ck_assert_int_eq(r.during.act, FAULT_REFUSE);
	ck_assert_ok(fault_file_add(&f, &r, &err), &err);
	write_and_read(&f);
	fault_file_release(&f);
}
END_TEST

START_TEST(gap__is_refused_with_the_word_that_was_not_understood)
{
	static const struct {
		const char *text, *sentence;
	} rows[] = {{"", "bad gap '': found '', expected a position such as '+30s', or '#1'"},
		{"+30s", "bad gap '+30s': found '', expected a length after the position"},
		{"+30s,x",
			"bad gap '+30s,x': found 'x', expected a duration such as '10s', or '3ev' for three events"},
		{"+30s,0ev",
			"bad gap '+30s,0ev': found '0ev', expected a duration such as '10s', or '3ev' for three "
			"events"},
		{"+1s,1s,rst=3", "bad gap '+1s,1s,rst=3': found 'rst=3', expected no value"},
		{"+1s,1s,cut", "bad gap '+1s,1s,cut': found 'cut', expected a number after '='"},
		{"+1s,1s,cut=x", "bad gap '+1s,1s,cut=x': found 'cut=x', expected a number after '='"},
		{"+1s,1s,rst,end", "bad gap '+1s,1s,rst,end': found 'end', expected one such word only"},
		{"+1s,1s,hold=x", "bad gap '+1s,1s,hold=x': found 'hold=x', expected a duration after '='"},
		{"+1s,1s,client=", "bad gap '+1s,1s,client=': found 'client=', expected a value after '='"},
		{"+1s,1s,",
			"bad gap '+1s,1s,': found '', expected a resource such as 'pods', or one of the words of "
			"--gap"},
		{"+1s,1s,PODS",
			"bad gap '+1s,1s,PODS': found 'PODS', expected a resource such as 'pods', or one of "
			"the words of --gap"},
		{"#0,1s,event=1", "bad gap '#0,1s,event=1': found '#0', expected #1, #2, ..."},
		{"#1,1s",
			"bad gap '#1,1s': found '', expected 'event=EXPRESSION' at the end, or 'write=VERB RESOURCE', with '#N'"},
		{"+1s,1s,event=1",
			"bad gap '+1s,1s,event=1': found 'event=', expected '#N' at the beginning with it"},
		{"+1s,1s,after",
			"bad gap '+1s,1s,after': found 'after', expected it with '#N' only: a position is "
			"between two events"},
		{"#1,1s,event=x y", "bad gap '#1,1s,event=x y': bad expression: near \"y\": syntax error"},
		{"+1s,1s,refuse,pods",
			"bad gap '+1s,1s,refuse,pods': a refused connection has said nothing yet: 'refuse' goes without "
			"'where', 'http' with it"}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct fault_rule r;

		ck_assert_msg(gap_spec_parse(rows[i].text, 1, &r, &err) == ERR_USAGE, "%s", rows[i].text);
		ck_assert_str_eq(err.text, rows[i].sentence);
	}
}
END_TEST

UNIT_MAIN("fault_file", file__is_read_into_rules, file__leaves_open_what_is_the_same_for_all,
	file__is_refused_with_line_column_and_what_was_expected,
	file__is_refused_with_all_the_words_when_one_is_unknown, write__has_a_word_for_each_verb_that_writes,
	file__takes_no_more_than_64_rules, examples_of_the_documentation__are_read_and_written,
	documentation__explains_every_key_and_word, schema__is_the_one_in_the_repository,
	gap__is_read_as_the_rule_it_stands_for, gap__is_refused_with_the_word_that_was_not_understood)
