/* keys.c: see keys.h. */
#include "replayer/keys.h"

#include "replayer/deck.h"
#include "schema/base/clock.h"
#include "schema/base/log.h"
#include "schema/base/visible.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#define REDRAW_MS    250
#define JUMP_NS      (10 * NS_PER_S)
#define SPEED_LEAST  (1.0 / 1024)
#define SPEED_MOST   (1024.0 * 1024)
#define LINE_MAX_LEN 512

static const char help[] = "space pause  . step  + - speed  1 m real/max  <- -> 10s  r rewind  q quit";

struct keys {
	struct deck *deck;
	const struct run *run;
	void (*quit)(void *context);
	void *context;
	int fd; /* the terminal, opened anew: that it does not block is nobody else's concern */
	struct termios before;
	uv_poll_t poll;
	uv_timer_t redraw;
	uv_signal_t go_on; /* after Ctrl-Z the terminal is as the shell left it */
	int handles;
	bool mid_line; /* somebody else's line has no end so far: ours would cover it */
	double speed;  /* to come back to from max */
};

static void set_mode(struct keys *k)
{
	struct termios raw = k->before;

	raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	tcsetattr(k->fd, TCSANOW, &raw);
}

/* ---- the line ---- */

static int columns(const struct keys *k)
{
	struct winsize size;

	if (ioctl(k->fd, TIOCGWINSZ, &size) || size.ws_col == 0)
		return 80;
	return size.ws_col < LINE_MAX_LEN ? size.ws_col : LINE_MAX_LEN;
}

/* While it stands still: at which event. */
static void add_event(const struct deck *d, struct buf *to)
{
	struct buf text;

	if (player_state(d->player) != PLAYER_PAUSED)
		return;
	buf_init(&text, LINE_MAX_LEN);
	if (deck_event_text(d, &text, NULL) == 0 && buf_append(to, "  ", 2, NULL) == 0)
		(void)!visible_append(to, buf_slice(&text), NULL);
	buf_release(&text);
}

static void draw(struct keys *k)
{
	const struct deck *d = k->deck;
	char line[LINE_MAX_LEN], now[TIME_TEXT_BYTES], speed[32] = "max", late[TIME_TEXT_BYTES];
	struct buf event;

	if (player_speed(d->player) > SPEED_MAX)
		snprintf(speed, sizeof(speed), "%gx", player_speed(d->player));
	time_format(now, player_tape_ns(d->player));
	duration_format(late, histogram_at(&k->run->late, 0.99));
	buf_init(&event, VISIBLE_GROWTH * LINE_MAX_LEN);
	add_event(d, &event);
	snprintf(line, sizeof(line),
		"%s  %.19s  event %llu of %llu%.*s  %s  %zu watches  %llu sent%s%s  (? keys)",
		player_state_name(player_state(d->player)), now, (unsigned long long)d->world->seq,
		(unsigned long long)d->until_seq, (int)event.len, event.ptr ? event.ptr : "", speed,
		watches_running(d->watches), (unsigned long long)k->run->events,
		k->run->late.count ? ", p99 late " : "", k->run->late.count ? late : "");
	line[columns(k) - 1] = 0;
	log_show_status(line);
	buf_release(&event);
}

/* On a line of its own, which the terminal breaks if it is narrow. */
static void say(const char *text)
{
	log_clear_status();
	fprintf(stderr, "%s\n", text);
}

static void on_redraw(uv_timer_t *handle)
{
	struct keys *k = handle->data;

	if (!k->mid_line)
		draw(k);
}

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(fd, bytes, len);

		if (n < 0 && errno != EINTR)
			return;
		bytes += n > 0 ? n : 0;
		len -= n > 0 ? (size_t)n : 0;
	}
}

void keys_write(struct keys *k, int fd, const char *bytes, size_t len)
{
	log_clear_status();
	write_all(fd, bytes, len);
	k->mid_line = len && bytes[len - 1] != '\n';
	if (!k->mid_line)
		draw(k);
}

/* ---- the keys ---- */

static void pause_or_go_on(struct keys *k)
{
	struct player *p = k->deck->player;

	if (player_state(p) == PLAYER_RUNNING) {
		player_pause(p);
	} else {
		player_start(p);
		player_resume(p);
	}
}

static void set_speed(struct keys *k, double speed)
{
	if (speed > SPEED_MAX && (speed < SPEED_LEAST || speed > SPEED_MOST))
		return;
	if (speed > SPEED_MAX)
		k->speed = speed;
	player_set_speed(k->deck->player, speed);
}

static void jump(struct keys *k, int64_t by_ns)
{
	char to[TIME_TEXT_BYTES];
	struct err err;

	time_format(to, player_tape_ns(k->deck->player) + by_ns);
	if (deck_seek(k->deck, to, &err))
		say(err.text);
}

static void rewind_all(struct keys *k)
{
	struct err err;

	if (deck_rewind(k->deck, &err))
		say(err.text);
}

static void press(struct keys *k, char key)
{
	bool max = player_speed(k->deck->player) == SPEED_MAX;

	switch (key) {
	case ' ': pause_or_go_on(k); break;
	case '.': player_step(k->deck->player, 1); break;
	case '+':
	case '=': set_speed(k, max ? SPEED_MAX : 2 * k->speed); break;
	case '-': set_speed(k, max ? k->speed : k->speed / 2); break;
	case '1': set_speed(k, 1); break;
	case 'm': set_speed(k, max ? k->speed : SPEED_MAX); break;
	case 'r': rewind_all(k); break;
	case 'q': k->quit(k->context); break;
	case '?':
	case 'h': say(help); break;
	default: break;
	}
}

/* An arrow is three bytes, which a terminal sends at once. */
static void press_all(struct keys *k, const char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		bool arrow =
			count - i >= 3 && bytes[i] == '\033' && (bytes[i + 1] == '[' || bytes[i + 1] == 'O');

		if (!arrow) {
			press(k, bytes[i]);
			continue;
		}
		i += 2;
		if (bytes[i] == 'C' || bytes[i] == 'D')
			jump(k, bytes[i] == 'C' ? JUMP_NS : -JUMP_NS);
	}
}

static void on_readable(uv_poll_t *handle, int status, int events)
{
	struct keys *k = handle->data;
	char bytes[64];
	ssize_t n;

	(void)events;
	n = status < 0 ? 0 : read(k->fd, bytes, sizeof(bytes));
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) { /* the terminal is gone; the replay goes on */
		uv_poll_stop(&k->poll);
		uv_timer_stop(&k->redraw);
		return;
	}
	press_all(k, bytes, (size_t)n);
	if (!k->mid_line)
		draw(k);
}

static void on_go_on(uv_signal_t *handle, int signal_number)
{
	(void)signal_number;
	set_mode(handle->data);
}

/* ---- opening and closing ---- */

/* In the background setting the terminal's mode would stop the program. */
static int open_terminal(void)
{
	int fd;

	if (!isatty(STDIN_FILENO) || !isatty(STDERR_FILENO))
		return -1;
	fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (fd >= 0 && tcgetpgrp(fd) == getpgrp())
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

struct keys *keys_open(
	uv_loop_t *loop, struct deck *deck, const struct run *run, void (*quit)(void *context), void *context)
{
	int fd = open_terminal();
	struct keys *k;

	if (fd < 0)
		return NULL;
	k = xcalloc(1, sizeof(*k));
	*k = (struct keys){
		.deck = deck, .run = run, .quit = quit, .context = context, .fd = fd, .handles = 3};
	k->speed = player_speed(deck->player) > SPEED_MAX ? player_speed(deck->player) : 1;
	tcgetattr(fd, &k->before);
	set_mode(k);
	uv_poll_init(loop, &k->poll, fd);
	uv_timer_init(loop, &k->redraw);
	uv_signal_init(loop, &k->go_on);
	k->poll.data = k->redraw.data = k->go_on.data = k;
	uv_poll_start(&k->poll, UV_READABLE, on_readable);
	uv_timer_start(&k->redraw, on_redraw, 0, REDRAW_MS);
	uv_signal_start(&k->go_on, on_go_on, SIGCONT);
	return k;
}

static void on_closed(uv_handle_t *handle)
{
	struct keys *k = handle->data;

	if (--k->handles)
		return;
	close(k->fd);
	free(k);
}

void keys_close(struct keys *k)
{
	if (!k)
		return;
	log_clear_status();
	tcsetattr(k->fd, TCSANOW, &k->before);
	uv_close((uv_handle_t *)&k->poll, on_closed);
	uv_close((uv_handle_t *)&k->redraw, on_closed);
	uv_close((uv_handle_t *)&k->go_on, on_closed);
}
