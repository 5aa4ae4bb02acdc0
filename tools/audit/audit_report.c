/* audit_report.c: see audit_report.h. */
#include "tools/audit/audit_report.h"

#include <inttypes.h>

void audit_report_text(const struct audit_totals *t, FILE *to)
{
	fprintf(to, "of %" PRIu64 " lines\n", t->lines);
	for (int i = 0; i < AUDIT_OUTCOMES; i++) {
		if (t->outcomes[i])
			fprintf(to, "  %8" PRIu64 " %s\n", t->outcomes[i], audit_outcome_words[i].text);
	}
	fprintf(to, "of %" PRIu64 " events it is known now which request made them", t->events - t->disputed);
	if (t->disputed)
		fprintf(to, "; %" PRIu64 " more may be of several", t->disputed);
	fputc('\n', to);
}

void audit_report_json(const struct audit_totals *t, FILE *to)
{
	fprintf(to, "{\"lines\": %" PRIu64, t->lines);
	for (int i = 0; i < AUDIT_OUTCOMES; i++)
		fprintf(to, ", \"%s\": %" PRIu64, audit_outcome_words[i].name, t->outcomes[i]);
	fprintf(to, ", \"events\": %" PRIu64 ", \"disputed_events\": %" PRIu64 "}\n", t->events - t->disputed,
		t->disputed);
}
