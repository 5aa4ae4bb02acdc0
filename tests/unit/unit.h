/* unit.h: what every unit test program shares: one main that runs one suite and prints Check's summary. */
#ifndef TESTS_UNIT_UNIT_H
#define TESTS_UNIT_UNIT_H

#include "schema/base/count_of.h"
#include <check.h>
#include <stdlib.h>

/* Check notes where each assertion that holds stands, with a system call, for the line that it prints when a test crashes.
 * Tests assert millions of times; where one crashed, a debugger or AddressSanitizer says better. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                             \
	((expr) ? (void)0                                                                                    \
		: _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))

/* Fails the test unless `call` returns 0 or more, and prints the sentence that it left in err. */
#define ck_assert_ok(call, err)                                                                              \
	do {                                                                                                 \
		int ck_rc = (call);                                                                          \
		ck_assert_msg(ck_rc >= 0, "%s: %s", #call, ck_rc < 0 ? (err)->text : "");                    \
	} while (0)

/* Fails the test unless the slice holds just these bytes. */
#define ck_assert_slice_eq(slice, text)                                                                      \
	ck_assert_msg(slice_is((slice), (text)), "%s is '%.*s', expected '%s'", #slice, (int)(slice).len,    \
		(slice).ptr, (text))

/* Runs the tests, in order of the list, and returns main's exit code. CK_FORK=no
 * keeps them in one process. */
static inline int unit_main(const char *name, const TTest *const *tests, size_t count)
{
	Suite *suite = suite_create(name);
	TCase *tcase = tcase_create(name);
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < count; i++)
		tcase_add_test(tcase, tests[i]);
	tcase_set_timeout(tcase, 600); /* of a machine that has much else to do */
	suite_add_tcase(suite, tcase);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#define UNIT_MAIN(name, ...)                                                                                 \
	int main(void)                                                                                       \
	{                                                                                                    \
		const TTest *const tests[] = {__VA_ARGS__};                                                  \
                                                                                                             \
		return unit_main(name, tests, COUNT_OF(tests));                                              \
	}

#endif
