#include "schema/base/varint.h"
#include "tests/unit/unit.h"

static const uint64_t edges[] = {0, 1, 0x7f, 0x80, 0x3fff, 0x4000, UINT32_MAX, UINT64_C(1) << 35,
	(UINT64_C(1) << 56) - 1, UINT64_C(1) << 63, UINT64_MAX - 1, UINT64_MAX};

START_TEST(varint__reads_back_what_it_wrote)
{
	uint8_t bytes[COUNT_OF(edges) * VARINT_MAX_BYTES];
	struct varint_reader r = {bytes, bytes, false};
	size_t len = 0;

	for (size_t i = 0; i < COUNT_OF(edges); i++)
		len += varint_put(bytes + len, edges[i]);
	r.end = bytes + len;
	for (size_t i = 0; i < COUNT_OF(edges); i++)
		ck_assert(varint_get(&r) == edges[i]);
	ck_assert(!r.failed);
	ck_assert_ptr_eq(r.at, r.end);
}
END_TEST

START_TEST(varint__has_the_bytes_of_leb128)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	ck_assert_uint_eq(varint_put(bytes, 300), 2);
	ck_assert_mem_eq(bytes, "\xac\x02", 2);
	ck_assert_uint_eq(varint_put(bytes, UINT64_MAX), 10);
	ck_assert_mem_eq(bytes, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10);
}
END_TEST

START_TEST(varint_get__fails_at_every_cut_and_stays_failed)
{
	uint8_t bytes[VARINT_MAX_BYTES];

	for (size_t i = 0; i < COUNT_OF(edges); i++) {
		size_t len = varint_put(bytes, edges[i]);

		for (size_t cut = 0; cut < len; cut++) {
			struct varint_reader r = {bytes, bytes + cut, false};

			ck_assert_uint_eq(varint_get(&r), 0);
			ck_assert(r.failed);
			ck_assert_uint_eq(varint_get(&r), 0);
			ck_assert_ptr_eq(r.at, r.end);
		}
	}
}
END_TEST

START_TEST(varint_get__refuses_more_than_64_bits)
{
	static const uint8_t too_big[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02};
	static const uint8_t too_long[] = {0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00};
	struct varint_reader big = {too_big, too_big + sizeof(too_big), false};
	struct varint_reader lengthy = {too_long, too_long + sizeof(too_long), false};

	varint_get(&big);
	ck_assert(big.failed);
	varint_get(&lengthy);
	ck_assert(lengthy.failed);
}
END_TEST

START_TEST(zigzag__keeps_every_sign)
{
	static const int64_t numbers[] = {0, -1, 1, -2, INT64_MAX, INT64_MIN};

	for (size_t i = 0; i < COUNT_OF(numbers); i++)
		ck_assert_int_eq(unzigzag(zigzag(numbers[i])), numbers[i]);
	ck_assert_uint_eq(zigzag(-1), 1);
	ck_assert_uint_eq(zigzag(1), 2);
}
END_TEST

UNIT_MAIN("varint", varint__reads_back_what_it_wrote, varint__has_the_bytes_of_leb128,
	varint_get__fails_at_every_cut_and_stays_failed, varint_get__refuses_more_than_64_bits,
	zigzag__keeps_every_sign)
