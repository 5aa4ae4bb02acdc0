#include "schema/base/uuid.h"
#include "tests/unit/unit.h"

#include <string.h>

START_TEST(uuid__is_random_and_of_version_4)
{
	static const char shape[] = "xxxxxxxx-xxxx-4xxx-yxxx-xxxxxxxxxxxx";
	char one[UUID_TEXT_BYTES], other[UUID_TEXT_BYTES];

	uuid_new(one);
	uuid_new(other);
	ck_assert_str_ne(one, other);
	for (size_t i = 0; i < sizeof(shape); i++) {
		const char *allowed = shape[i] == 'x' ? "0123456789abcdef" : "89ab";

		if (shape[i] == 'x' || shape[i] == 'y')
			ck_assert_msg(one[i] && strchr(allowed, one[i]), "%s", one);
		else
			ck_assert_int_eq(one[i], shape[i]);
	}
}
END_TEST

UNIT_MAIN("uuid", uuid__is_random_and_of_version_4)
