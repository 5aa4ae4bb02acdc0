/*
 * log.h: messages of a running program on stderr, one line each: `time level message`. Only the recorder's
 * and the replayer's loops and the tools log; everything in schema/ returns errors instead. Control
 * characters become spaces, other active ones are escaped (visible.h), and a message ends after 2047 bytes,
 * whatever was quoted in it.
 */
#ifndef SCHEMA_BASE_LOG_H
#define SCHEMA_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

void log_set_level(enum log_level level);

/* The status line: the last one on a terminal, without a line feed, written again and again. Showing one
 * replaces the one before; log lines take it away and leave it to be shown again. */
void log_show_status(const char *text);
void log_clear_status(void);

void log_write(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_write(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_write(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_write(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_write(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
