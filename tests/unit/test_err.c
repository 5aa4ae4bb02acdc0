#include "schema/base/err.h"
#include "tests/unit/unit.h"

#include <errno.h>
#include <string.h>

START_TEST(err_set__keeps_code_and_sentence)
{
	struct err err;

	ck_assert_int_eq(err_set(&err, ERR_CORRUPT, "bad checksum in '%s'", "seg-1"), ERR_CORRUPT);
	ck_assert_int_eq(err.code, ERR_CORRUPT);
	ck_assert_str_eq(err.text, "bad checksum in 'seg-1'");
}
END_TEST

START_TEST(err__is_optional_everywhere)
{
	ck_assert_int_eq(err_set(NULL, ERR_USAGE, "x"), ERR_USAGE);
	ck_assert_int_eq(err_set_errno(NULL, ENOSPC, "x"), ERR_NO_SPACE);
	ck_assert_int_lt(err_prefix(NULL, "x"), 0);
}
END_TEST

START_TEST(err_set_errno__tells_a_full_disk_from_a_missing_file)
{
	struct err err;

	ck_assert_int_eq(err_set_errno(&err, ENOSPC, "cannot write '%s'", "a"), ERR_NO_SPACE);
	ck_assert_str_eq(err.text, "cannot write 'a': No space left on device");
	ck_assert_int_eq(err_set_errno(&err, EDQUOT, "x"), ERR_NO_SPACE);
	ck_assert_int_eq(err_set_errno(&err, ENOENT, "x"), ERR_NOT_FOUND);
	ck_assert_int_eq(err_set_errno(&err, EACCES, "x"), ERR_IO);
	ck_assert_int_eq(err.code, ERR_IO);
}
END_TEST

START_TEST(err_prefix__puts_words_before_the_sentence_and_keeps_the_code)
{
	struct err err;

	err_set(&err, ERR_NETWORK, "connection refused");
	ck_assert_int_eq(err_prefix(&err, "cannot list '%s'", "pods"), ERR_NETWORK);
	ck_assert_str_eq(err.text, "cannot list 'pods': connection refused");
}
END_TEST

START_TEST(err__cuts_sentences_that_are_too_long)
{
	char words[2 * ERR_TEXT_MAX];
	struct err err;

	memset(words, 'x', sizeof(words) - 1);
	words[sizeof(words) - 1] = 0;
	err_set(&err, ERR_FAILED, "%s", words);
	ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	err_set_errno(&err, EIO, "%s", words);
	ck_assert_uint_eq(strlen(err.text), ERR_TEXT_MAX - 1);
	err_prefix(&err, "%s", words);
	ck_assert_uint_lt(strlen(err.text), ERR_TEXT_MAX);
}
END_TEST

UNIT_MAIN("err", err_set__keeps_code_and_sentence, err__is_optional_everywhere,
	err_set_errno__tells_a_full_disk_from_a_missing_file,
	err_prefix__puts_words_before_the_sentence_and_keeps_the_code, err__cuts_sentences_that_are_too_long)
