/*
 * http_internal.h: shared by http.c (the life of requests), http_lane.c (libcurl on the loop) and
 * http_setup.c (a request's options and results in libcurl).
 */
#ifndef RECORDER_HTTP_INTERNAL_H
#define RECORDER_HTTP_INTERNAL_H

#include "recorder/backlog.h"
#include "recorder/http.h"
#include "recorder/placement.h"

#include <curl/curl.h>
#include <netinet/in.h>

/* The watches are shared among this many connections, or a little more when there are hundreds of them. */
#define WATCH_LANES                 7
#define LIST_LANE                   WATCH_LANES
#define LANES                       (WATCH_LANES + 1)
#define HTTP_WATCHES_PER_CONNECTION 100

/* A multi handle, and so connections of its own. */
struct lane {
	struct http *http;
	CURLM *multi;
	uv_timer_t timer;
	struct watched *sockets; /* those that libcurl reads from */
	bool stirred, stirring;  /* something was read since the last nudge; and since the last look */
	bool overslept;          /* libcurl's time came while deaf */
};

/* A GOAWAY frame, on the connection with that local port. */
struct goaway {
	long port;
	int error, last_stream;
};
#define GOAWAYS_KEPT 16

struct http {
	uv_loop_t *loop;
	const struct clock *clock;
	const struct cluster_config *config;
	struct credentials *credentials;
	struct lane lanes[LANES];
	struct placement places[WATCH_LANES];
	uv_timer_t sweep, look;
	struct http_request *requests; /* all that live */
	size_t lists_running, watch_count;
	size_t more_connections; /* than the watches should take */
	uint64_t taken;          /* pieces of bodies that libcurl gave */
	unsigned depth;          /* of calls into libcurl */
	bool has_dead;           /* some request was cancelled inside libcurl */
	bool h1_seen;            /* the server answers in HTTP/1.1: a watch needs a connection of its own */
	bool preparing;          /* credentials are being got: nothing is started meanwhile */
	bool closing;
	/* Whether sockets are read: hear_or_not() makes `deaf` follow from the rest. */
	bool held;              /* http_hold: no body is taken */
	bool gated;             /* http_shut_gate: bodies and ends go to the backlog */
	bool deaf;              /* no socket is read: held, or the backlog has enough */
	size_t enough_bytes;    /* of the backlog */
	struct backlog backlog; /* owners are requests */
	char *base;             /* scheme, authority and path prefix of every URL */
	char *authority;        /* host:port that is really meant */
	char *connect_to;       /* libcurl's CONNECT_TO entry when the TLS name differs from the host */
	struct curl_slist *connect_list;
	char *proxy; /* of the configuration, or NULL */
	bool tls, no_proxy;
	struct goaway goaways[GOAWAYS_KEPT]; /* the last ones */
	unsigned goaway_count;
	unsigned open_handles;
};

enum phase {
	PHASE_WAITING, /* for credentials, or for a free place in the list lane */
	PHASE_RUNNING,
	PHASE_FAILED, /* could not start; the sweep reports it */
	PHASE_DEAD,   /* cancelled or done, to be freed */
};

struct http_request {
	struct http *http;
	struct http_request *next, *prev;
	enum phase phase;
	size_t lane;
	double rate; /* of a watch, as expected */
	char *url, *accept;
	struct http_handler handler;
	CURL *easy;
	struct curl_slist *headers;
	int64_t begin_ns, begin_mono_ns, first_byte_mono_ns;
	uint64_t bytes, head_bytes;
	bool aborted;          /* on_body wants no more */
	bool header_done;      /* that of the answer, not of a 100 Continue */
	bool paused;           /* libcurl keeps its body until unpause() */
	bool overdue;          /* a sweep found it so; the next one ends it */
	bool roomless;         /* the last sweep found no connection that takes it */
	int64_t moved_mono_ns; /* when libcurl was made to look for a connection again; 0 never */
	bool has_turn;         /* it is one of the lists that may run at a time */
	char server[INET6_ADDRSTRLEN + 16];
	int socket_errno; /* why there is no socket; 0: there is one, or none was wanted */
	char error[CURL_ERROR_SIZE];
};

void http_lane_open(struct http *h, struct lane *lane);

/* Stops reading all sockets: data wait in the kernel, and then at the server. Requests that share a
 * connection cannot be paused one by one: libcurl keeps reading for the others and buffers the data of a
 * paused one, up to 32 MiB. */
void http_lanes_deafen(struct http *h);
void http_lanes_hear(struct http *h);

/* Ends the requests that libcurl has finished on the lane. */
void http_take_results(struct lane *lane);

/* Takes the server's URL apart into base, authority, connect_to and the rest. */
void http_set_base(struct http *h);

/* Everything about the transfer but the callbacks. Fails when the credentials cannot be read. */
int http_set_up(struct http_request *r, struct err *err) MUST_CHECK;

/* Adds the facts that are known only at the end. */
void http_answer_end(struct http_request *r, CURLcode code, struct http_answer *answer);

#endif
