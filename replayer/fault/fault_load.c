/* fault_load.c: see fault_load.h. */
#include "replayer/fault/fault_load.h"

#include "replayer/fault/fault_file.h"
#include "replayer/fault/fault_recorded.h"
#include "replayer/fault/fault_scope.h"
#include "replayer/fault/gap_spec.h"
#include "schema/base/log.h"
#include "schema/tape/reader.h"

static int add_specs(struct fault_file *file, const struct fault_load_options *o, struct err *err)
{
	int rc = 0;

	for (size_t i = 0; i < o->spec_count && rc == 0; i++) {
		struct fault_rule rule;

		rc = gap_spec_parse(o->specs[i], i + 1, &rule, err);
		if (rc == 0 && (rc = fault_file_add(file, &rule, err)) != 0)
			fault_rule_release(&rule);
	}
	return rc;
}

static void hold_behind(struct fault_file *file, const struct fault_load_options *o)
{
	size_t first_recorded = file->count - file->recorded_count;

	for (size_t i = 0; i < file->count; i++) {
		struct fault_rule *rule = &file->rules[i];

		if (fault_ends_streams(rule->what.act) && !rule->hold_ns)
			rule->hold_ns = i < first_recorded ? o->hold_ns : o->recorded_hold_ns;
	}
}

bool fault_is_file(const char *gaps)
{
	return gaps && strcmp(gaps, "recorded") != 0 && strcmp(gaps, "none") != 0;
}

static int fault_load_fill(
	struct tape *t, const struct fault_load_options *o, struct fault_file *file, struct err *err)
{
	const struct fault_ground ground = {t, o->lenient, o->goes_on};
	bool recorded = !o->gaps || strcmp(o->gaps, "recorded") == 0;
	int rc = 0;

	if (fault_is_file(o->gaps))
		rc = fault_file_parse(o->text, o->gaps, file, err);
	else
		file->seed = FAULT_SEED_DEFAULT;
	if (rc == 0)
		rc = add_specs(file, o, err);
	if (rc == 0)
		rc = fault_resolve(file, &ground, err);
	if (rc == 0 && (recorded || file->recorded))
		rc = fault_recorded_add(t, file, err);
	if (rc == 0)
		hold_behind(file, o);
	if (o->seed)
		file->seed = o->seed;
	return rc;
}

static void settle_past(const struct tape *t, const struct fault_load_options *o, struct faults *f)
{
	size_t count = faults_settle_past(f, t, o->begin_seq, o->begin_ns);

	if (count)
		log_info("%zu recorded faults were over before event %llu: they do not happen again", count,
			(unsigned long long)o->begin_seq);
}

int fault_load(struct tape *t, const struct fault_load_options *o, struct faults **ret, struct err *err)
{
	struct fault_file file = {0};
	int rc = fault_load_fill(t, o, &file, err);

	*ret = NULL;
	if (rc == 0 && file.count)
		rc = faults_new(&file, ret, err);
	if (rc == 0 && *ret)
		settle_past(t, o, *ret);
	fault_file_release(&file);
	return rc;
}
