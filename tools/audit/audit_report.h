/* audit_report.h: reports the results for the lines of an audit log, for people and programs. */
#ifndef TOOLS_AUDIT_REPORT_H
#define TOOLS_AUDIT_REPORT_H

#include "tools/audit/audit_join.h"

#include <stdio.h>

void audit_report_text(const struct audit_totals *t, FILE *to);
void audit_report_json(const struct audit_totals *t, FILE *to);

#endif
