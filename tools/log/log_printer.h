/* log_printer.h: the rows of `kubetape log`, for people: an event, a field that it changed, or a gap. */
#ifndef TOOLS_LOG_PRINTER_H
#define TOOLS_LOG_PRINTER_H

#include "schema/sql/session.h"
#include "tools/out/state_text.h"

/* The columns of a row. One with a type is an event, with a field that it changed or without one; one without is a gap. */
enum log_column {
	LOG_SEQ,
	LOG_TIME,
	LOG_TIME_NS,
	LOG_TYPE,
	LOG_ORIGIN,
	LOG_RESOURCE,
	LOG_NAMESPACE,
	LOG_NAME,
	LOG_UID,
	LOG_RV,
	LOG_OP,
	LOG_FIELD,
	LOG_OLD,
	LOG_NEW,
	LOG_MANAGER,
	LOG_REASON,
	LOG_HOW_ENDED,
	LOG_DURATION,
	LOG_USER,
	LOG_USER_AGENT,
};

struct log_printer {
	struct state_text text;
	bool all_fields, local;
	bool many; /* gaps may be of several resources */
	int64_t last_seq, last_time_ns;
	int64_t told_ns; /* when the last gap began that was printed */
	size_t row_count;
};

/* The context is the printer. */
int log_printer_row(void *context, const struct sql_value *v, size_t count, struct err *err);

#endif
