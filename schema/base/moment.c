/* moment.c: see moment.h. A reader of a part takes the place in the text and moves it behind that part. */
#include "schema/base/moment.h"

#include "schema/base/clock.h"
#include "schema/base/count_of.h"

#include <assert.h>
#include <time.h>

/* ---- digits ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool read_char(const char **at, const char *any_of)
{
	if (!**at || !strchr(any_of, **at))
		return false;
	++*at;
	return true;
}

/* Two digits in low..high. */
static bool read_two(const char **at, int low, int high, int *ret)
{
	const char *a = *at;

	if (!is_digit(a[0]) || !is_digit(a[1]))
		return false;
	*ret = (a[0] - '0') * 10 + a[1] - '0';
	*at += 2;
	return *ret >= low && *ret <= high;
}

/* The digits of a fraction of a second; what is below a nanosecond is dropped. */
static bool read_fraction(const char **at, int64_t *ret_ns)
{
	int64_t unit_ns = NS_PER_S, ns = 0;

	if (!is_digit(**at))
		return false;
	for (; is_digit(**at); ++*at) {
		unit_ns /= 10;
		ns += (**at - '0') * unit_ns;
	}
	*ret_ns = ns;
	return true;
}

/* ---- dates ---- */

static int days_in_month(int year, int month)
{
	static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return month == 2 && leap ? 29 : days[month - 1];
}

static bool read_date(const char **at, struct tm *ret)
{
	int century, year, month;

	if (!read_two(at, 0, 99, &century) || !read_two(at, 0, 99, &year) || !read_char(at, "-"))
		return false;
	year += century * 100;
	if (!read_two(at, 1, 12, &month) || !read_char(at, "-"))
		return false;
	ret->tm_year = year - 1900;
	ret->tm_mon = month - 1;
	return read_two(at, 1, days_in_month(year, month), &ret->tm_mday);
}

/* One digit will do. */
static bool read_hour(const char **at, int *ret)
{
	if (is_digit((*at)[0]) && (*at)[1] == ':') {
		*ret = *(*at)++ - '0';
		return true;
	}
	return read_two(at, 0, 23, ret);
}

/* Since midnight. Second 60 is the leap second, which counts as the second after it. */
static bool read_clock(const char **at, int64_t *ret_ns)
{
	int hour, minute, second = 0;
	int64_t fraction_ns = 0;

	if (!read_hour(at, &hour) || !read_char(at, ":") || !read_two(at, 0, 59, &minute))
		return false;
	if (read_char(at, ":")) {
		if (!read_two(at, 0, 60, &second))
			return false;
		if (read_char(at, ".") && !read_fraction(at, &fraction_ns))
			return false;
	}
	*ret_ns = (hour * 3600 + minute * 60 + second) * NS_PER_S + fraction_ns;
	return true;
}

/* Nothing, Z, or how far the clock is ahead of UTC: +02:00, +0200, +02. */
static bool read_zone(const char **at, int64_t *ret_ns)
{
	int sign = **at == '-' ? -1 : 1, hour, minute = 0;

	*ret_ns = 0;
	if (!**at || read_char(at, "Zz"))
		return true;
	if (!read_char(at, "+-") || !read_two(at, 0, 23, &hour))
		return false;
	if (**at) {
		(void)read_char(at, ":");
		if (!read_two(at, 0, 59, &minute))
			return false;
	}
	*ret_ns = sign * (hour * 3600 + minute * 60) * NS_PER_S;
	return true;
}

/* Of a day, saturated. timegm is glibc's. */
static int64_t ns_of(struct tm *date, int64_t of_day_ns)
{
	int64_t s = (int64_t)timegm(date) + of_day_ns / NS_PER_S, ns;

	if (__builtin_mul_overflow(s, NS_PER_S, &ns) || __builtin_add_overflow(ns, of_day_ns % NS_PER_S, &ns))
		return s < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* ---- forms ---- */

static bool read_absolute(const char *at, struct moment *ret)
{
	struct tm date = {0};
	int64_t clock_ns = 0, ahead_ns = 0;

	if (!read_date(&at, &date))
		return false;
	if (*at && (!read_char(&at, "Tt ") || !read_clock(&at, &clock_ns) || !read_zone(&at, &ahead_ns)))
		return false;
	*ret = (struct moment){MOMENT_ABSOLUTE, ns_of(&date, clock_ns - ahead_ns)};
	return !*at;
}

static bool read_time_of_day(const char *at, struct moment *ret)
{
	int64_t clock_ns, ahead_ns;

	if (!read_clock(&at, &clock_ns) || !read_zone(&at, &ahead_ns) || *at)
		return false;
	*ret = (struct moment){MOMENT_TIME_OF_DAY, (clock_ns - ahead_ns + NS_PER_DAY) % NS_PER_DAY};
	return true;
}

static bool read_epoch(const char *at, struct moment *ret)
{
	ret->form = MOMENT_ABSOLUTE;
	return at[strspn(at, "0123456789.")] == 0 && duration_parse(at, &ret->ns, NULL) == 0;
}

static bool read_duration(const char *at, enum moment_form form, struct moment *ret)
{
	ret->form = form;
	return duration_parse(at, &ret->ns, NULL) == 0;
}

static bool read_word(const char *text, struct moment *ret)
{
	static const struct {
		const char *word;
		enum moment_form form;
	} words[] = {{"now", MOMENT_NOW}, {"start", MOMENT_START}, {"end", MOMENT_END}};

	for (size_t i = 0; i < COUNT_OF(words); i++) {
		if (strcmp(words[i].word, text) == 0) {
			*ret = (struct moment){words[i].form, 0};
			return true;
		}
	}
	return false;
}

static bool read_moment(const char *text, struct moment *ret)
{
	switch (*text) {
	case '-': return read_duration(text + 1, MOMENT_BEFORE_END, ret);
	case '+': return read_duration(text + 1, MOMENT_AFTER_START, ret);
	case '@': return read_epoch(text + 1, ret);
	default: break;
	}
	return read_word(text, ret) || read_epoch(text, ret) || read_time_of_day(text, ret) ||
	       read_absolute(text, ret);
}

int moment_parse(struct slice text, struct moment *ret, struct err *err)
{
	char copy[MOMENT_BYTES_MAX + 1];
	struct moment m;
	size_t len = text.len <= MOMENT_BYTES_MAX ? text.len : MOMENT_BYTES_MAX;

	memcpy(copy, len ? text.ptr : "", len);
	copy[len] = 0;
	if (len < text.len || strlen(copy) < len || !read_moment(copy, &m))
		return err_set(err, ERR_USAGE, "bad time '%s%s': expected %s", copy,
			len < text.len ? "..." : "", MOMENT_FORMS);
	*ret = m;
	return 0;
}

bool moment_is_absolute(struct slice text, int64_t *ret_ns)
{
	struct moment m;

	if (moment_parse(text, &m, NULL) || m.form != MOMENT_ABSOLUTE || m.ns == INT64_MIN ||
		m.ns == INT64_MAX)
		return false;
	*ret_ns = m.ns;
	return true;
}

/* ---- what is meant ---- */

/* The midnight of a time's day, rounded down also before 1970. */
static int64_t midnight_of(int64_t ns)
{
	int64_t of_day_ns = ns % NS_PER_DAY;

	return time_add(ns, -(of_day_ns < 0 ? of_day_ns + NS_PER_DAY : of_day_ns));
}

/* Of the days that the tape touches, its last is the only one that may be nearer than its first. */
static int64_t nearest_day(const struct moment_frame *f, int64_t of_day_ns)
{
	int64_t before_ns = time_add(midnight_of(f->first_ns), of_day_ns);
	int64_t after_ns = time_add(midnight_of(f->last_ns), of_day_ns);

	if (before_ns >= f->first_ns || after_ns <= f->last_ns)
		return before_ns >= f->first_ns ? before_ns : after_ns;
	return f->first_ns - before_ns <= after_ns - f->last_ns ? before_ns : after_ns;
}

static int64_t resolve_time_of_day(int64_t of_day_ns, const struct moment_frame *f, uint64_t *ret_days)
{
	int64_t ns = time_add(midnight_of(f->first_ns), of_day_ns);

	if (ns < f->first_ns)
		ns = time_add(ns, NS_PER_DAY);
	if (ns > f->last_ns) {
		*ret_days = 0;
		return nearest_day(f, of_day_ns);
	}
	*ret_days = ((uint64_t)f->last_ns - (uint64_t)ns) / (uint64_t)NS_PER_DAY + 1;
	return ns;
}

int64_t moment_resolve(const struct moment *m, const struct moment_frame *frame, uint64_t *ret_days)
{
	uint64_t days = 1;
	int64_t ns = m->ns;

	switch (m->form) {
	case MOMENT_ABSOLUTE: break;
	case MOMENT_TIME_OF_DAY: ns = resolve_time_of_day(m->ns, frame, &days); break;
	case MOMENT_NOW: ns = frame->now_ns; break;
	case MOMENT_START: ns = frame->first_ns; break;
	case MOMENT_END: ns = frame->last_ns; break;
	case MOMENT_BEFORE_END: ns = time_add(frame->last_ns, -m->ns); break;
	case MOMENT_AFTER_START: ns = time_add(frame->first_ns, m->ns); break;
	}
	if (ret_days)
		*ret_days = days;
	return ns;
}
