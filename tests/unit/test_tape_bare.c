/* test_tape_bare.c: packs that leave resourceVersions to the index, and how full they get. */
#include "schema/tape/bare.h"
#include "schema/tape/pack.h"
#include "tests/unit/unit.h"

#define POD(name, rest) "{\"metadata\":{\"name\":\"" name "\",\"uid\":\"u-" name "\"" rest "}}"
#define RV(text)        ",\"resourceVersion\":\"" text "\""

static struct err err;

struct blocks {
	struct packed_block block[8];
	char *data[8];
	size_t len[8], count;
};

/* What a test says of an event: its object has the name "web" unless the text says otherwise. */
struct told {
	const char *object, *rv;
	enum event_origin origin;
};

static struct extent *extent_of(const struct told *told, size_t count)
{
	struct extent *x = extent_new();

	for (size_t i = 0; i < count; i++) {
		struct event e = {.seq = i + 1,
			.time_ns = 1000 * (int64_t)i,
			.type = EVENT_MODIFIED,
			.origin = told[i].origin,
			.stream = 1,
			.resource = 1,
			.name = slice_of("web"),
			.uid = slice_of("u-web"),
			.rv = slice_of(told[i].rv)};

		ck_assert_ok(extent_add(x, &e, slice_of(told[i].object), &err), &err);
	}
	return x;
}

static int take_block(
	void *context, size_t number, const struct packed_block *block, struct slice data, struct err *unused)
{
	struct blocks *b = context;

	(void)unused;
	ck_assert_uint_lt(number, COUNT_OF(b->block));
	b->block[number] = *block;
	b->data[number] = slice_dup(data);
	b->len[number] = data.len;
	b->count++;
	return 0;
}

static struct extent *packed_and_opened(struct extent *x, struct blocks *ret)
{
	const struct pack_options options = {.effort = {3, PACK_BYTES}, .compact = true};
	struct packed_extent packed;
	struct extent *opened;

	*ret = (struct blocks){0};
	ck_assert_ok(pack_extent(x, &options, take_block, ret, &packed, &err), &err);
	ck_assert_ok(unpack_index(buf_slice(&packed.index), packed.index_raw_bytes, &opened, &err), &err);
	pack_release(&packed);
	return opened;
}

static int open_first(const struct extent *x, const struct blocks *b, uint64_t raw_bytes, struct block **ret)
{
	return block_open_of(x, x->layout[0], b->block[0].kind, (struct slice){b->data[0], b->len[0]},
		b->block[0].events, raw_bytes, ret, &err);
}

static void release(struct blocks *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->data[i]);
}

/* Packs the events, expects that kind of pack, and each object as it was. */
static void expect_back(const struct told *told, size_t count, enum block_kind kind)
{
	struct extent *x = extent_of(told, count), *opened;
	struct blocks blocks;
	struct block *b;

	opened = packed_and_opened(x, &blocks);
	ck_assert_int_eq(blocks.block[0].kind, kind);
	ck_assert_ok(open_first(opened, &blocks, blocks.block[0].raw_bytes, &b), &err);
	for (size_t i = 0; i < count; i++) {
		const struct extent_event *e = &opened->events[i];
		struct slice object;

		ck_assert_ok(block_get(b, e->offset, e->length, &object, &err), &err);
		ck_assert_slice_eq(object, told[i].object);
		ck_assert_uint_eq(e->stream, 1);
		ck_assert_int_eq(
			(int)((e->head & HEAD_ORIGIN_MASK) >> HEAD_ORIGIN_SHIFT), (int)told[i].origin);
	}
	block_free(b);
	release(&blocks);
	extent_unref(opened);
	extent_unref(x);
}

START_TEST(bare__leaves_versions_to_the_index)
{
	static const struct told told[] = {{POD("web", RV("7")), "7", ORIGIN_LIST},
		{POD("web", RV("12345678901234567890")), "12345678901234567890", ORIGIN_WATCH},
		{POD("web", RV("007")), "007", ORIGIN_WATCH},
		{POD("web", RV("a\\u00fc")), "a\\u00fc", ORIGIN_WATCH}};

	expect_back(told, COUNT_OF(told), BLOCK_BARE);
}
END_TEST

START_TEST(bare__leaves_inferred_deletions_as_they_are)
{
	static const struct told told[] = {
		{POD("web", RV("7")), "7", ORIGIN_WATCH}, {POD("web", RV("7")), "9", ORIGIN_INFERRED}};

	expect_back(told, COUNT_OF(told), BLOCK_BARE);
}
END_TEST

START_TEST(bare__takes_the_version_of_the_event_and_no_other)
{
	static const struct told told[] = {
		{"{\"data\":{\"resourceVersion\":\"5\"},\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"7\"}}",
			"7", ORIGIN_WATCH},
		{"{\"data\":{\"resourceVersion\":\"8\"},\"metadata\":{\"name\":\"web\",\"resourceVersion\":\"8\"}}",
			"8", ORIGIN_WATCH},
		{"{\"metadata\":{\"resourceVersion\":\"9\"},\"ref\":{\"resourceVersion\":\"\"}}", "9",
			ORIGIN_WATCH}};

	expect_back(told, COUNT_OF(told), BLOCK_BARE);
}
END_TEST

START_TEST(bare__is_no_pack_with_an_object_whose_version_could_not_be_put_back)
{
	static const char *const objects[] = {POD("web", ""), POD("web", RV("70")), POD("web", RV("")),
		"{\"a\":{\"resourceVersion\":\"\"},\"metadata\":{\"resourceVersion\":\"7\"}}",
		"{\"resourceVersion\":\"7"};

	for (size_t i = 0; i < COUNT_OF(objects); i++) {
		const struct told told[] = {
			{POD("web", RV("6")), "6", ORIGIN_WATCH}, {objects[i], "7", ORIGIN_WATCH}};

		expect_back(told, COUNT_OF(told), BLOCK_NAMED);
	}
}
END_TEST

START_TEST(bare__is_damaged_where_it_does_not_fit_the_index)
{
	static const struct told seven[] = {{POD("web", RV("7")), "7", ORIGIN_WATCH}},
				 many[] = {{POD("web", RV("77777777")), "77777777", ORIGIN_WATCH}},
				 none[] = {{POD("web", RV("7")), "7", ORIGIN_INFERRED}};
	struct extent *x = extent_of(seven, 1), *one, *others[2];
	struct extent *made[2] = {extent_of(many, 1), extent_of(none, 1)};
	struct blocks blocks, unused[2];
	struct block *b;

	one = packed_and_opened(x, &blocks);
	ck_assert_int_eq(open_first(one, &blocks, blocks.block[0].raw_bytes + 1, &b), ERR_CORRUPT);
	ck_assert_str_eq(err.text, "bare pack does not fit the index");
	ck_assert_int_eq(open_first(one, &blocks, UINT64_C(1) << 40, &b), ERR_CORRUPT);
	for (size_t i = 0; i < 2; i++) { /* the index of another extent */
		others[i] = packed_and_opened(made[i], &unused[i]);
		ck_assert_int_eq(open_first(others[i], &blocks, blocks.block[0].raw_bytes, &b), ERR_CORRUPT);
		release(&unused[i]);
		extent_unref(others[i]);
		extent_unref(made[i]);
	}
	release(&blocks);
	extent_unref(one);
	extent_unref(x);
}
END_TEST

/* How many packs objects of that size fill, 36 kB together, if 20 kB fill one and 60 kB one of large objects. */
static size_t packs_of(size_t object_bytes)
{
	const struct pack_options options = {.effort = {3, 20000}, .large = {3, 60000}, .compact = true};
	char *text = xasprintf(POD("web", RV("7") ",\"a\":\"%0*d\""), (int)object_bytes, 0);
	struct told told[36];
	size_t count = 36000 / object_bytes;
	struct blocks blocks = {0};
	struct packed_extent packed;
	struct extent *x;

	for (size_t i = 0; i < count; i++)
		told[i] = (struct told){text, "7", ORIGIN_WATCH};
	x = extent_of(told, count);
	ck_assert_ok(pack_extent(x, &options, take_block, &blocks, &packed, &err), &err);
	pack_release(&packed);
	release(&blocks);
	extent_unref(x);
	free(text);
	return blocks.count;
}

START_TEST(pack__may_hold_more_of_large_objects)
{
	ck_assert_uint_eq(packs_of(1000), 2);
	ck_assert_uint_eq(packs_of(PACK_LARGE_BYTES), 1);
}
END_TEST

UNIT_MAIN("tape bare", bare__leaves_versions_to_the_index, bare__leaves_inferred_deletions_as_they_are,
	bare__takes_the_version_of_the_event_and_no_other,
	bare__is_no_pack_with_an_object_whose_version_could_not_be_put_back,
	bare__is_damaged_where_it_does_not_fit_the_index, pack__may_hold_more_of_large_objects)
