/* fuzz_yaml_out.c: any bytes become YAML or a sentence. */
#include "schema/base/yaml_out.h"
#include "tests/fuzz/fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	struct err err = {0};
	char *text = NULL;
	size_t text_len;
	FILE *to;

	if (len == 0 || len > 20000)
		return 0;
	to = open_memstream(&text, &text_len);
	fuzz_demand(to);
	if (yaml_out(to, (struct slice){(const char *)bytes, len}, 0, &err) < 0)
		fuzz_demand(err.text[0]);
	fclose(to);
	free(text);
	return 0;
}
