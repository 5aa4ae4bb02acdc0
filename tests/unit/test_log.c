#include "schema/base/log.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <unistd.h>

/* What `write` puts on stderr, terminated. */
static void capture(void (*write)(void), char *to, size_t size)
{
	int fds[2], saved = dup(STDERR_FILENO);
	ssize_t n;

	ck_assert_int_eq(pipe(fds), 0);
	dup2(fds[1], STDERR_FILENO);
	write();
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(fds[1]);
	n = read(fds[0], to, size - 1);
	close(fds[0]);
	to[n > 0 ? n : 0] = 0;
}

static void write_two_levels(void)
{
	log_set_level(LOG_LEVEL_WARN);
	log_info("not this");
	log_warn("stream %s: %d events", "pods", 3);
}

START_TEST(log__writes_time_level_and_message_down_to_its_level)
{
	char line[4096];

	capture(write_two_levels, line, sizeof(line));
	ck_assert_uint_eq(strspn(line, "0123456789-T:.Z"), strlen("2026-01-15T10:00:00.123Z"));
	ck_assert_str_eq(strchr(line, ' '), " warn stream pods: 3 events\n");
}
END_TEST

static void write_under_a_status(void)
{
	log_show_status("1 of 2 streams");
	log_show_status("2 of 2 streams");
	log_warn("a");
	log_warn("b");
}

START_TEST(log__takes_the_status_line_away_once_before_it_writes)
{
	char text[4096], *status, *first;

	capture(write_under_a_status, text, sizeof(text));
	status = strstr(text, "1 of 2 streams\r\033[K2 of 2 streams\r\033[K20");
	ck_assert_ptr_eq(status, text);
	first = strchr(text, '\n');
	ck_assert_ptr_nonnull(first);
	ck_assert_ptr_null(strchr(first, '\r'));
}
END_TEST

static void write_hostile_words(void)
{
	log_error("peer said '%s'", "a\nb\x1b[2Jc\td\x7f");
}

START_TEST(log__keeps_a_line_one_line_whatever_a_peer_said)
{
	char line[4096];

	capture(write_hostile_words, line, sizeof(line));
	ck_assert_str_eq(strchr(line, ' '), " error peer said 'a b [2Jc d '\n");
}
END_TEST

static void write_words_that_steer(void)
{
	log_error("peer said '%s'", "\xc2\x9b"
				    "5n \xe2\x80\xae \x9b");
}

START_TEST(log__escapes_what_steers_a_terminal_beyond_ascii)
{
	char line[4096];

	capture(write_words_that_steer, line, sizeof(line));
	ck_assert_str_eq(strchr(line, ' '), " error peer said '\\x9b5n \\u202e \\x9b'\n");
}
END_TEST

static void write_long_line(void)
{
	log_error("%5000d", 7);
}

START_TEST(log__cuts_what_is_too_long)
{
	char line[8192];

	capture(write_long_line, line, sizeof(line));
	ck_assert_uint_lt(strlen(line), 2100);
	ck_assert_int_eq(line[strlen(line) - 1], '\n');
}
END_TEST

UNIT_MAIN("log", log__writes_time_level_and_message_down_to_its_level,
	log__takes_the_status_line_away_once_before_it_writes,
	log__keeps_a_line_one_line_whatever_a_peer_said, log__escapes_what_steers_a_terminal_beyond_ascii,
	log__cuts_what_is_too_long)
