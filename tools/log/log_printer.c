/* log_printer.c: see log_printer.h. */
#include "tools/log/log_printer.h"

#include "schema/base/out_file.h"
#include "schema/base/visible.h"
#include "tools/cli/time_shown.h"

static const char *shown(const struct log_printer *p, const struct sql_value *v, char to[TIME_TEXT_BYTES])
{
	return time_shown(to, v[LOG_TIME_NS].integer, p->local, TIME_DIGITS_ALL);
}

/* Who asked for it, by the audit log. */
static void print_request(const struct sql_value *v)
{
	struct slice agent = v[LOG_USER_AGENT].bytes;

	if (v[LOG_USER].type != SQL_TEXT)
		return;
	fputs(" by ", stdout);
	visible_put(stdout, v[LOG_USER].bytes);
	fputs(" (", stdout);
	visible_put(stdout, slice_cut(&agent, '/'));
	putchar(')');
}

static void print_event(struct log_printer *p, const struct sql_value *v)
{
	char since[TIME_TEXT_BYTES], time[TIME_TEXT_BYTES];

	state_text_begin(&p->text, STATE_HEAD);
	printf("%s ", shown(p, v, time));
	printf("%-8.*s", (int)v[LOG_TYPE].bytes.len, v[LOG_TYPE].bytes.ptr);
	state_text_end(&p->text);
	putchar(' ');
	visible_put(stdout, v[LOG_RESOURCE].bytes);
	putchar(' ');
	state_text_name(v[LOG_NAMESPACE].bytes, v[LOG_NAME].bytes);
	fputs(" rv ", stdout);
	visible_put(stdout, v[LOG_RV].bytes);
	fputs(" uid ", stdout);
	visible_put(stdout, v[LOG_UID].bytes);
	if (!slice_is(v[LOG_ORIGIN].bytes, "watch"))
		printf(" (%.*s)", (int)v[LOG_ORIGIN].bytes.len, v[LOG_ORIGIN].bytes.ptr);
	if (p->last_time_ns)
		printf(" +%s", duration_format(since, time_sub(v[LOG_TIME_NS].integer, p->last_time_ns)));
	print_request(v);
	if (v[LOG_OP].type == SQL_NULL)
		fputs(p->all_fields ? " (nothing changed)"
				    : " (nothing but managedFields or resourceVersion)",
			stdout);
	putchar('\n');
	p->last_time_ns = v[LOG_TIME_NS].integer;
}

static void print_gap(struct log_printer *p, const struct sql_value *v)
{
	bool open = slice_is(v[LOG_HOW_ENDED].bytes, "open"),
	     filled = slice_is(v[LOG_HOW_ENDED].bytes, "filled");
	char length[TIME_TEXT_BYTES], time[TIME_TEXT_BYTES];

	p->told_ns = v[LOG_TIME_NS].integer;
	state_text_begin(&p->text, STATE_GAP);
	printf("%s %s", shown(p, v, time), filled ? "SEEN BY ANOTHER RECORDING" : "NOT WATCHED");
	if (p->many) {
		putchar(' ');
		visible_put(stdout, v[LOG_RESOURCE].bytes);
	}
	if (open)
		fputs(" from here on", stdout);
	else if (v[LOG_DURATION].type == SQL_INTEGER)
		printf(" for %s", duration_format(length, v[LOG_DURATION].integer));
	fputs(": ", stdout);
	visible_put(stdout, v[LOG_REASON].bytes);
	if (!open && !filled) {
		fputs(", ended by ", stdout);
		visible_put(stdout, v[LOG_HOW_ENDED].bytes);
	}
	state_text_end(&p->text);
	putchar('\n');
}

/* What a first list shows may be of any age. */
static void print_beginning(struct log_printer *p, const struct sql_value *v)
{
	char time[TIME_TEXT_BYTES];

	state_text_begin(&p->text, STATE_GAP);
	printf("%s NOT WATCHED before: this was the first list", shown(p, v, time));
	state_text_end(&p->text);
	putchar('\n');
}

int log_printer_row(void *context, const struct sql_value *v, size_t count, struct err *err)
{
	struct log_printer *p = context;

	(void)count;
	p->row_count++;
	if (v[LOG_TYPE].type == SQL_NULL) {
		print_gap(p, v);
		return out_stream_check(stdout, err);
	}
	if (p->row_count == 1 && slice_is(v[LOG_ORIGIN].bytes, "list"))
		print_beginning(p, v);
	if (v[LOG_SEQ].integer != p->last_seq)
		print_event(p, v);
	p->last_seq = v[LOG_SEQ].integer;
	if (v[LOG_FIELD].bytes.len)
		state_text_change(&p->text, v[LOG_OP].bytes, v[LOG_FIELD].bytes, v[LOG_OLD].bytes,
			v[LOG_NEW].bytes, v[LOG_MANAGER].bytes);
	return out_stream_check(stdout, err);
}
