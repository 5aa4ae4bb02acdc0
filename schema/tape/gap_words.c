/* gap_words.c: see gap_words.h. */
#include "schema/tape/gap_words.h"
#include "schema/base/count_of.h"

#include <string.h>

const char *gap_reason_words(const char *reason)
{
	static const struct {
		const char *reason, *words;
	} rows[] = {{"server_timeout", "the watch was over at the time asked for"},
		{"server_close_early", "the server ended the watch before its time"},
		{"cut_clean_midframe", "the server ended the watch in the middle of an event"},
		{"cut", "the connection was closed in the middle of the watch"},
		{"reset", "the connection was reset"}, {"h2_stream", "the server reset the HTTP/2 stream"},
		{"h2_conn", "the HTTP/2 connection broke"}, {"goaway", "the server sent the connection away"},
		{"stalled", "nothing came for too long"}, {"refused", "nobody listened"},
		{"dns", "the server's name was not found"},
		{"connect_timeout", "the server could not be reached in time"}, {"tls", "TLS failed"},
		{"no_response", "the connection was closed without an answer"},
		{"bad_frame", "what came was no event"},
		{"bad_encoding", "what came could not be decompressed"},
		{"client_stop", "the recorder was stopped"}, {"recorder_died", "the recorder died"},
		{"resource_gone", "the resource was removed"}, {"polled", "nobody watched between two lists"},
		{"snapshot", "what there was at one moment was collected, and nobody watched"},
		{"client_closed", "the client ended the watch"},
		{"not_recorded", "what passed was not written down"},
		{"left_out", "events were left out when this part of a tape was made"},
		{"state_lost", "the segment with the objects that lived before is lost"}};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (strcmp(rows[i].reason, reason) == 0)
			return rows[i].words;
	}
	if (strncmp(reason, "error_event:410", 15) == 0 || strcmp(reason, "http_410") == 0)
		return "the server no longer had the history";
	if (strncmp(reason, "error_event:", 12) == 0)
		return "the server sent an error in the watch";
	return strncmp(reason, "http_", 5) == 0 ? "the server answered with an error" : reason;
}
