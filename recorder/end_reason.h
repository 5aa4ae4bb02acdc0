/*
 * end_reason.h: why a request ended, as one word that goes into the tape. The words and what each means:
 *
 *   complete            a list, probe or document was answered in full
 *   client_stop         the recorder itself aborted
 *   error_event:C:R     the watch sent an ERROR event with code C and reason R
 *   http_C              the status was C, not 200
 *   refused, dns, connect_timeout   no connection was made
 *   tls                 no TLS session was made, or a certificate was not accepted
 *   credentials         a token file or a credential plugin gave no credentials
 *   no_response         the connection ended before the status line, or no status line came for too long
 *   server_timeout      a clean end at the time that was asked for
 *   server_close_early  a clean end before that time: server going down, cache re-initialised, slow watcher
 *   cut_clean_midframe  a clean end inside a frame
 *   cut                 the connection was closed inside the body
 *   reset               the connection was reset
 *   goaway              the server sent GOAWAY, then the connection ended
 *   h2_stream, h2_conn  HTTP/2's other ways to end
 *   stalled             no byte for too long; the recorder gave up
 *   bad_frame           a line that is not an event; its bytes are the connection's tail
 *   bad_encoding        the content encoding could not be undone
 *   failed              anything else; the libcurl code says what
 */
#ifndef RECORDER_END_REASON_H
#define RECORDER_END_REASON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define END_REASON_BYTES 96

struct end_facts {
	bool is_watch;
	bool own_stop, stalled, bad_frame; /* the recorder's own decisions */
	int error_code;                    /* of an ERROR event, 0 none */
	const char *error_reason;          /* of an ERROR event */
	int http_status;                   /* 0: no status line came */
	bool sent;                         /* the request went out over a connection */
	int curl_code, os_errno;
	bool goaway;
	int h2_error;            /* of the GOAWAY, or of the stream */
	size_t tail_bytes;       /* of an unfinished line */
	int64_t duration_ns;     /* monotonic */
	int64_t timeout_seconds; /* asked for, -1 none */
};

/* The word, first match in the order of the list above (with own decisions first); returns `to`. */
const char *end_reason(char to[END_REASON_BYTES], const struct end_facts *facts);

#endif
