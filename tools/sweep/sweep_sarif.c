/* sweep_sarif.c: what a sweep found as SARIF 2.1.0: a result for each cause. See sweep_report.h. */
#include "tools/sweep/sweep_report.h"

#include "schema/base/version.h"
#include "tools/out/table_out.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void put_string(FILE *to, const char *text)
{
	table_out_json_string(to, slice_of(text));
}

/* A path as a URI: what does not stand for itself there is escaped. */
static void put_uri(FILE *to, const char *path)
{
	fputc('"', to);
	for (const unsigned char *c = (const unsigned char *)path; *c; c++) {
		if (isalnum(*c) || strchr("-._~/:@!$&'()*+,;=", *c))
			fputc(*c, to);
		else
			fprintf(to, "%%%02X", *c);
	}
	fputc('"', to);
}

static void put_rules(FILE *to)
{
	static const char *const texts[SWEEP_PATTERNS] = {
		[SWEEP_UNOBSERVED] = "Changes pass while a watch is away",
		[SWEEP_RESTART] =
			"The program dies within a write, or before an object comes, and starts again",
		[SWEEP_STALE] = "After a restart one resource is older than what the program had seen",
		[SWEEP_WRITES] = "A write is refused, or done without that the program is told",
		[SWEEP_COALESCED] = "Changes come all at once",
		[SWEEP_ECHO] = "The program's own writes reach its watches late",
		[SWEEP_SLOW] = "One resource is listed long after the others",
	};

	for (int i = 0; i < SWEEP_PATTERNS; i++) {
		fputs(i ? ", {\"id\": " : "{\"id\": ", to);
		put_string(to, sweep_pattern_names[i]);
		fputs(", \"shortDescription\": {\"text\": ", to);
		put_string(to, texts[i]);
		fputs("}}", to);
	}
}

static void put_result(const struct sweep_report *r, const struct sweep_cause *c, FILE *to)
{
	const struct sweep_try *t = c->example;
	char *place = sweep_position_name(t->position), *repeat = sweep_repeat_of(r, t);
	char *text = xasprintf("%s (%s): %s", place, t->words, t->differences);

	fputs("{\"ruleId\": ", to);
	put_string(to, sweep_pattern_names[t->position->pattern]);
	fputs(", \"level\": \"error\", \"message\": {\"text\": ", to);
	put_string(to, text);
	fputs("}, \"locations\": [{\"physicalLocation\": {\"artifactLocation\": {\"uri\": ", to);
	put_uri(to, r->tape);
	fputs("}}, \"logicalLocations\": [{\"fullyQualifiedName\": ", to);
	put_string(to, place);
	fputs("}]}], \"partialFingerprints\": {\"cause\": ", to);
	put_string(to, c->key);
	fprintf(to, "}, \"properties\": {\"places\": %zu, \"repeat\": ", c->places);
	put_string(to, repeat);
	fputs("}}", to);
	free(text);
	free(repeat);
	free(place);
}

void sweep_report_sarif(const struct sweep_report *r, FILE *to)
{
	struct sweep_causes causes;

	sweep_causes_find(r, SWEEP_WRONG, &causes);
	fputs("{\"$schema\": \"https://json.schemastore.org/sarif-2.1.0.json\", \"version\": \"2.1.0\",\n \"runs\": [{\"tool\": "
	      "{\"driver\": {\"name\": \"kubetape sweep\", \"version\": ",
		to);
	put_string(to, KUBETAPE_VERSION);
	fputs(", \"rules\": [", to);
	put_rules(to);
	fputs("]}},\n  \"results\": [", to);
	for (size_t i = 0; i < causes.count; i++) {
		fputs(i ? ",\n   " : "\n   ", to);
		put_result(r, &causes.items[i], to);
	}
	fputs("]}]}\n", to);
	sweep_causes_release(&causes);
}
