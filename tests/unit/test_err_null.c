/* test_err_null.c: callers that do not need the sentence pass NULL, and get the same code without it. */
#include "recorder/kubeconfig.h"
#include "replayer/fault/fault_file.h"
#include "replayer/fault/gap_spec.h"
#include "replayer/json/json_tree.h"
#include "replayer/json/yaml_json.h"
#include "replayer/protobuf/protobuf.h"
#include "replayer/request/continue_token.h"
#include "replayer/request/field_selector.h"
#include "replayer/request/label_selector.h"
#include "replayer/world/replay_clock.h"
#include "replayer/write/write_policy.h"
#include "schema/base/base64.h"
#include "schema/base/catalog.h"
#include "schema/base/clock.h"
#include "schema/base/json_compact.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/run/compare_rules.h"
#include "schema/run/run_file.h"
#include "schema/run/run_reader.h"
#include "schema/sql/json_diff.h"
#include "schema/sql/predicate.h"
#include "schema/sql/session.h"
#include "schema/tape/hot.h"
#include "schema/tape/position.h"
#include "schema/tape/recover.h"
#include "schema/tape/repack.h"
#include "schema/tape/verify.h"
#include "tests/unit/tape_files.h"
#include "tools/cli/read_file.h"

#define NO_JSON "this is no JSON"
#define NOWHERE "/nonexistent/x"

/* Runs `call`, which ends in `, err)`, with a sentence and without; both fail alike. */
#define ck_assert_fails_alike(call)                                                                          \
	do {                                                                                                 \
		struct err told = {0}, *err = &told;                                                         \
		int with = (call);                                                                           \
		err = NULL;                                                                                  \
		ck_assert_msg(with < 0 && told.code == with && *told.text, "%s: %d", #call, with);           \
		ck_assert_msg((call) == with, "%s: another code without err", #call);                        \
	} while (0)

START_TEST(err_null__is_taken_by_base)
{
	struct object_meta meta;
	struct list_page page;
	struct watch_frame frame;
	struct json_iter it;
	struct slice value, bad = slice_of(NO_JSON);
	struct buf to;
	struct moment moment;
	int64_t ns;

	buf_init(&to, 4);
	ck_assert_fails_alike(json_scan_object(bad, &meta, err));
	ck_assert_fails_alike(json_scan_list(bad, &page, err));
	ck_assert_fails_alike(json_scan_frame(bad, &frame, err));
	ck_assert_fails_alike(json_iter_begin(bad, &it, err));
	ck_assert_fails_alike(json_get(slice_of("{\"a\":"), "a", &value, err));
	ck_assert_fails_alike(json_unescape(slice_of("\\uZZZZ"), &to, err));
	ck_assert_fails_alike(base64_decode(slice_of("!"), &to, err));
	ck_assert_fails_alike(base64_encode(bad, &to, err));
	ck_assert_fails_alike(buf_printf(&to, err, "%s", NO_JSON));
	ck_assert_fails_alike(moment_parse(slice_of(NO_JSON), &moment, err));
	ck_assert_fails_alike(duration_parse(NO_JSON, &ns, err));
	ck_assert_fails_alike(read_file(NOWHERE, &to, err));
	buf_release(&to);
}
END_TEST

START_TEST(err_null__is_taken_by_a_tape)
{
	struct tape_position position;
	struct tape_document document;
	struct tape_writer *w;
	struct tape *t;
	struct event e;
	struct slice object;
	struct buf keep;
	struct model m;
	uint64_t seq;

	model_init(&m, 1);
	w = model_open(&m, NULL);
	model_steps(&m, w, 10, 5);
	buf_init(&keep, 64 * LIMIT_NAME_BYTES);
	ck_assert_int_eq(tape_open(m.path, &t, NULL), 0);
	ck_assert_fails_alike(tape_position_find(t, "nowhere", &position, err));
	ck_assert_fails_alike(tape_event(t, 1000, &e, &keep, err));
	ck_assert_fails_alike(tape_object(t, 1000, &object, err));
	ck_assert_fails_alike(tape_previous(t, 1000, &seq, err));
	ck_assert_fails_alike(tape_document(t, "/api", "", 0, &document, NULL, err));
	e = (struct event){.stream = m.streams[0], .type = EVENT_ADDED};
	ck_assert_fails_alike(tape_writer_append(w, &e, slice_of(NO_JSON), &seq, err));
	ck_assert_fails_alike(hot_identify(&e, slice_of(NO_JSON), &keep, err));
	tape_close(t);
	ck_assert_int_eq(tape_writer_close(w, NULL), 0);
	buf_release(&keep);
	model_release(&m);
}
END_TEST

START_TEST(err_null__is_taken_by_what_looks_at_whole_tapes)
{
	const struct tape_verify_options verify = {0};
	const struct tape_recover_options recover = {0};
	struct tape_verify_result verified;
	struct tape_recover_result recovered;
	struct tape_repack_result repacked;
	struct tape_writer *w;
	struct tape *t;

	ck_assert_fails_alike(tape_open(NOWHERE, &t, err));
	ck_assert_fails_alike(tape_writer_open(NOWHERE "/y", NULL, &w, err));
	ck_assert_fails_alike(tape_verify(NOWHERE, &verify, &verified, err));
	ck_assert_fails_alike(tape_recover(NOWHERE, NOWHERE "y", &recover, &recovered, err));
	ck_assert_fails_alike(tape_repack(NOWHERE, NOWHERE "y", &tape_repack_defaults, &repacked, err));
}
END_TEST

/* Every byte of a sealed tape is damaged in turn, until each kind of record was; nobody asks why. */
START_TEST(err_null__is_taken_by_readers_of_damaged_tapes)
{
	struct tape_writer *w;
	struct model m;
	uint64_t size;
	int fd, failed = 0;

	model_init(&m, 2);
	w = model_open(&m, NULL);
	model_steps(&m, w, 200, 20);
	ck_assert_int_eq(tape_writer_close(w, NULL), 0);
	fd = model_open_file(&m, "seg-000001.db", &size);
	for (uint64_t at = 4096; at < size; at += 509) {
		struct err err;
		char was, is;
		int with;

		ck_assert_int_eq(pread(fd, &was, 1, (off_t)at), 1);
		is = (char)(was ^ 0x55);
		ck_assert_int_eq(pwrite(fd, &is, 1, (off_t)at), 1);
		with = model_read_tape(&m, &err);
		ck_assert_int_eq(model_read_tape(&m, NULL), with);
		failed += with < 0;
		ck_assert_int_eq(pwrite(fd, &was, 1, (off_t)at), 1);
	}
	ck_assert_int_gt(failed, 10);
	close(fd);
	model_release(&m);
}
END_TEST

START_TEST(err_null__is_taken_by_sql)
{
	struct json_diff *d = json_diff_new();
	struct sql_session *s;
	struct predicate *p;
	struct run_reader *reader;
	struct run_file *file;
	struct compare_rules *rules = compare_rules_new();

	ck_assert_fails_alike(sql_session_open(NOWHERE, &s, err));
	ck_assert_fails_alike(predicate_compile(slice_of("no such thing"), NULL, &p, err));
	ck_assert_fails_alike(json_diff_make(d, slice_of("{\"a\":"), slice_of("{}"), true, err));
	ck_assert_fails_alike(run_reader_open(NOWHERE, &reader, err));
	ck_assert_fails_alike(run_file_open(NOWHERE "/y", &file, err));
	ck_assert_fails_alike(compare_rules_ignore(rules, "no rule [", err));
	compare_rules_free(rules);
	json_diff_free(d);
}
END_TEST

START_TEST(err_null__is_taken_by_the_replayer)
{
	struct continue_token token;
	struct label_selector *labels;
	struct field_selector *fields;
	struct fault_file faults;
	struct fault_rule rule;
	struct write_rules rules = {0};
	struct buf to;
	double speed;
	cJSON *tree;
	char *json;

	buf_init(&to, 1024);
	ck_assert_fails_alike(continue_token_parse(slice_of("!"), &token, err));
	ck_assert_fails_alike(label_selector_parse(slice_of("a in b"), &labels, err));
	ck_assert_fails_alike(field_selector_parse(slice_of("a"), &fields, err));
	ck_assert_fails_alike(fault_file_parse(slice_of(NO_JSON), "x", &faults, err));
	ck_assert_fails_alike(fault_file_text(NOWHERE, &to, err));
	ck_assert_fails_alike(gap_spec_parse("no gap", 1, &rule, err));
	ck_assert_fails_alike(write_rules_add(&rules, "no=rule", err));
	ck_assert_fails_alike(protobuf_to_json(slice_of(NO_JSON), &to, err));
	ck_assert_fails_alike(json_compact(slice_of("{"), &to, err));
	ck_assert_fails_alike(json_tree_parse(slice_of(NO_JSON), &tree, err));
	ck_assert_fails_alike(yaml_to_json(slice_of("[:"), &json, err));
	ck_assert_fails_alike(speed_parse(NO_JSON, &speed, err));
	buf_release(&to);
}
END_TEST

START_TEST(err_null__is_taken_by_the_recorder)
{
	const struct kubeconfig_wishes wishes = {.file = NOWHERE};
	struct cluster_config *config;
	struct catalog catalog = {0};

	ck_assert_fails_alike(kubeconfig_load(&wishes, &config, err));
	ck_assert_fails_alike(catalog_add_aggregated(&catalog, slice_of(NO_JSON), err));
	ck_assert_fails_alike(catalog_add_classic(&catalog, slice_of(NO_JSON), err));
	catalog_release(&catalog);
}
END_TEST

UNIT_MAIN("err null", err_null__is_taken_by_base, err_null__is_taken_by_a_tape,
	err_null__is_taken_by_what_looks_at_whole_tapes, err_null__is_taken_by_readers_of_damaged_tapes,
	err_null__is_taken_by_sql, err_null__is_taken_by_the_replayer, err_null__is_taken_by_the_recorder)
