/* test_sweep_kin.c: which objects' contents may follow from one that was not made. */
#include "tests/unit/unit.h"
#include "tools/sweep/sweep_kin.h"

#define OWNED(by) "{\"kind\":\"ReplicaSet\",\"metadata\":{\"ownerReferences\":[" by "]}}"
#define WEB       "{\"kind\":\"Rollout\",\"name\":\"web\"}"
#define API       "{\"kind\":\"Rollout\",\"name\":\"api\"}"

static bool are_kin(const char *object, const char *other)
{
	return sweep_are_kin(&(struct sweep_effect){.content = (char *)object},
		&(struct sweep_effect){.content = (char *)other});
}

START_TEST(sweep_kin__an_object_its_owner_and_what_that_owns_are_kin)
{
	ck_assert(are_kin(OWNED(WEB), OWNED(WEB)));
	ck_assert(are_kin(OWNED(API "," WEB), OWNED(WEB)));
	ck_assert(are_kin(OWNED(WEB), "{\"kind\":\"Rollout\",\"metadata\":{\"name\":\"web\"}}"));
}
END_TEST

START_TEST(sweep_kin__others_are_not)
{
	ck_assert(!are_kin(OWNED(WEB), OWNED(API)));
	ck_assert(!are_kin(OWNED(WEB), "{\"kind\":\"Rollout\",\"metadata\":{\"name\":\"api\"}}"));
	ck_assert(!are_kin(OWNED(WEB), "{\"kind\":\"Service\",\"metadata\":{\"name\":\"web\"}}"));
	ck_assert(!are_kin("{\"kind\":\"Rollout\",\"metadata\":{\"name\":\"web\"}}", OWNED(WEB)));
	ck_assert(!are_kin("{}", "{}"));
	ck_assert(!are_kin("no JSON", OWNED(WEB)));
}
END_TEST

UNIT_MAIN("sweep_kin", sweep_kin__an_object_its_owner_and_what_that_owns_are_kin, sweep_kin__others_are_not)
