/*
 * fuzz_fault_file.c: fault files and gaps of the command line (inputs that do not begin with '{'). What is
 * taken can be written, and reads as the same; what is refused leaves a sentence and nothing else.
 */
#include "replayer/fault/fault_file.h"
#include "replayer/fault/gap_spec.h"
#include "schema/base/limits.h"
#include "tests/fuzz/fuzz.h"

static void write_and_read(const struct fault_file *f, struct buf *to, struct fault_file *ret)
{
	buf_init(to, LIMIT_CONFIG_BYTES);
	fuzz_demand(fault_file_write(f, to, NULL) == 0);
	fuzz_demand(fault_file_parse(buf_slice(to), "written", ret, NULL) == 0);
}

/* Twice, because bytes that are no UTF-8 are replaced the first time. */
static void write_and_compare(const struct fault_file *f)
{
	struct fault_file second = {0}, third = {0};
	struct buf first, again;

	write_and_read(f, &first, &second);
	buf_release(&first);
	write_and_read(&second, &first, &third);
	buf_init(&again, LIMIT_CONFIG_BYTES);
	fuzz_demand(fault_file_write(&third, &again, NULL) == 0);
	fuzz_demand(slice_equal(buf_slice(&first), buf_slice(&again)));
	buf_release(&first);
	buf_release(&again);
	fault_file_release(&second);
	fault_file_release(&third);
}

static void read_gap(struct slice input, struct fault_file *to)
{
	char *text = slice_dup(input);
	struct fault_rule rule = {0};
	struct err err = {0};

	if (gap_spec_parse(text, 1, &rule, &err) == 0)
		fuzz_demand(fault_file_add(to, &rule, NULL) == 0);
	else
		fuzz_demand(err.code == ERR_USAGE && err.text[0] && !rule.name);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct slice input = {len ? (const char *)bytes : NULL, len}; /* as an empty buffer has it */
	struct fault_file f = {.seed = FAULT_SEED_DEFAULT};
	struct err err = {0};

	if (len && bytes[0] != '{') {
		read_gap(input, &f);
	} else if (fault_file_parse(input, "input", &f, &err) < 0) {
		fuzz_demand(err.code == ERR_USAGE && err.text[0] && f.count == 0);
		return 0;
	}
	write_and_compare(&f);
	fault_file_release(&f);
	return 0;
}
