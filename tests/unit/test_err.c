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
	ck_assert_int_eq(err_prefix(NULL, ERR_IO, "x"), ERR_IO);
	ck_assert_int_eq(err_suffix(NULL, ERR_IO, "x"), ERR_IO);
	ck_assert_int_eq(err_recode(NULL, ERR_IO), ERR_IO);
	ck_assert_int_eq(err_copy(NULL, &(struct err){.code = ERR_IO}), ERR_IO);
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
	ck_assert_int_eq(err_prefix(&err, ERR_NETWORK, "cannot list '%s'", "pods"), ERR_NETWORK);
	ck_assert_str_eq(err.text, "cannot list 'pods': connection refused");
}
END_TEST

START_TEST(err_suffix__puts_words_after_the_sentence_and_sets_the_code)
{
	struct err err;

	err_set(&err, ERR_FAILED, "connection refused");
	ck_assert_int_eq(err_suffix(&err, ERR_NETWORK, "%d tries were made", 2), ERR_NETWORK);
	ck_assert_str_eq(err.text, "connection refused; 2 tries were made");
	ck_assert_int_eq(err.code, ERR_NETWORK);
}
END_TEST

START_TEST(err_recode__keeps_the_sentence)
{
	struct err err, copy;

	err_set(&err, ERR_FAILED, "bad selector");
	ck_assert_int_eq(err_recode(&err, ERR_USAGE), ERR_USAGE);
	ck_assert_int_eq(err_copy(&copy, &err), ERR_USAGE);
	ck_assert_int_eq(copy.code, ERR_USAGE);
	ck_assert_str_eq(copy.text, "bad selector");
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
	err_prefix(&err, ERR_FAILED, "%s", words);
	ck_assert_uint_lt(strlen(err.text), ERR_TEXT_MAX);
	err_suffix(&err, ERR_FAILED, "%s", words);
	ck_assert_uint_lt(strlen(err.text), ERR_TEXT_MAX);
}
END_TEST

UNIT_MAIN("err", err_set__keeps_code_and_sentence, err__is_optional_everywhere,
	err_set_errno__tells_a_full_disk_from_a_missing_file,
	err_prefix__puts_words_before_the_sentence_and_keeps_the_code,
	err_suffix__puts_words_after_the_sentence_and_sets_the_code, err_recode__keeps_the_sentence,
	err__cuts_sentences_that_are_too_long)
