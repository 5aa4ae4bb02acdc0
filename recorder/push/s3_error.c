/* s3_error.c: what a store refuses, as a sentence that says what to do. */
#include "recorder/push/s3_internal.h"
#include "recorder/push/xml_text.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define CLOCK_LIMIT_NS (900 * NS_PER_S) /* AWS' own */

enum refusal { REFUSES, DENIES, LACKS_BUCKET, LACKS_KEY, HAS_CHANGED, IS_BUSY, CLOCK_IS_OFF, KEYS_ENDED };

/* The codes that are worth words of their own; any other one goes by the status. */
static const struct {
	const char *code;
	enum refusal means;
} codes[] = {
	{"AccessDenied", DENIES},
	{"InvalidAccessKeyId", DENIES},
	{"SignatureDoesNotMatch", DENIES},
	{"XAdminUserNotFound", DENIES}, /* versitygw, with status 404 */
	{"InvalidToken", KEYS_ENDED},
	{"ExpiredToken", KEYS_ENDED},
	{"TokenRefreshRequired", KEYS_ENDED},
	{"RequestTimeTooSkewed", CLOCK_IS_OFF},
	{"RequestExpired", CLOCK_IS_OFF},
	{"NoSuchBucket", LACKS_BUCKET},
	{"NoSuchKey", LACKS_KEY},
	/* Ended by a request whose answer was lost, or given back by another push, which has stored the same. */
	{"NoSuchUpload", HAS_CHANGED},
	{"PreconditionFailed", HAS_CHANGED},
	{"ConditionalRequestConflict", IS_BUSY},
	{"SlowDown", IS_BUSY},
	{"RequestTimeout", IS_BUSY},
	{"OperationAborted", IS_BUSY},
	{"BadDigest", IS_BUSY},
	{"IncompleteBody", IS_BUSY},
	{"XAmzContentSHA256Mismatch", IS_BUSY},
};

static enum refusal means_of(const char *code, int status)
{
	for (size_t i = 0; code && i < COUNT_OF(codes); i++) {
		if (strcmp(code, codes[i].code) == 0)
			return codes[i].means;
	}
	switch (status) {
	/* An answer to HEAD has no code. AWS means a token that has ended by this status, or else a bucket of another region. */
	case 400: return code ? REFUSES : KEYS_ENDED;
	case 401:
	case 403: return DENIES;
	case 404: return code ? REFUSES : LACKS_KEY;
	case 412: return HAS_CHANGED;
	case 408:
	case 429: return IS_BUSY;
	default: return status >= 500 && status != 501 ? IS_BUSY : REFUSES;
	}
}

/* By how much our clock is ahead of the Date that the store answered with; 0 when it named none. */
static int64_t ahead_ns(const char *date)
{
	struct tm tm = {0};

	if (!strptime(date, "%a, %d %b %Y %H:%M:%S GMT", &tm))
		return 0;
	return clock_wall_ns(&clock_system) - (int64_t)timegm(&tm) * NS_PER_S;
}

/* "the clock of this machine is 2h00m behind that of the store"; the caller frees. */
static char *tell_clock(int64_t ahead)
{
	char time[TIME_TEXT_BYTES];

	return xasprintf("the clock of this machine is %s %s that of the store",
		duration_format(time, (ahead < 0 ? -ahead : ahead) / NS_PER_S * NS_PER_S),
		ahead < 0 ? "behind" : "ahead of");
}

static int refuse_clock(const char *subject, const char *date, struct err *err)
{
	int64_t ahead = ahead_ns(date);
	char *clock = tell_clock(ahead);
	int rc;

	if (ahead)
		rc = err_set(err, ERR_DENIED, "%s: %s; set it right", subject, clock);
	else
		rc = err_set(err, ERR_DENIED,
			"%s: the clocks of this machine and of the store disagree; set this one right",
			subject);
	free(clock);
	return rc;
}

/* A signature is of no use to a store whose clock is further away than that. */
static bool is_clock_off(const char *date)
{
	int64_t ahead = ahead_ns(date);

	return ahead > CLOCK_LIMIT_NS || ahead < -CLOCK_LIMIT_NS;
}

/* Where no code names the reason, the clocks do. */
static enum refusal judge_refusal(const char *code, const struct web_answer *a)
{
	enum refusal means = means_of(code, a->status);

	return !code && (means == DENIES || means == KEYS_ENDED) && is_clock_off(a->date) ? CLOCK_IS_OFF
											  : means;
}

static char *subject_of(const struct s3 *s, const struct s3_request *r)
{
	return r->key ? xasprintf("cannot %s '%s%s/%s'", r->verb, S3_SCHEME, s->bucket, r->key)
		      : xasprintf("cannot %s '%s%s'", r->verb, S3_SCHEME, s->bucket);
}

/* The bucket is in another region: where, the store says in a header or in its answer. */
static bool moves(struct s3 *s, const struct web_answer *a)
{
	char *region = *a->region ? xstrdup(a->region) : xml_text(buf_slice(&a->body), "Region");
	bool is_new = region && *region && strcmp(region, s->region) != 0 && !s->has_moved;

	if (is_new) {
		snprintf(s->region, sizeof(s->region), "%s", region);
		s->has_moved = true;
	}
	free(region);
	return is_new;
}

/* Whether it was done. */
static bool renews(struct s3 *s)
{
	const struct aws_keys *keys;

	if (s->has_renewed || aws_keys_get(s->aws, true, &keys, NULL))
		return false;
	s->has_renewed = true;
	return true;
}

static char *tell_keys(struct s3 *s)
{
	const struct aws_keys *k;

	return aws_keys_get(s->aws, false, &k, NULL)
		       ? NULL
		       : xasprintf("%s %s %s", k->key_id, k->secret, k->token ? k->token : "");
}

/* Keys that were rotated are refused as wrong ones are. They are tried again if there are others now. */
static void renews_if_others(struct s3 *s)
{
	char *before = s->has_renewed ? NULL : tell_keys(s), *now;

	if (before && renews(s)) {
		now = tell_keys(s);
		s->has_renewed = now && strcmp(before, now) != 0;
		free(now);
	}
	free(before);
}

static void look_for_keys(struct s3 *s, enum refusal means, const char *code)
{
	if (means == KEYS_ENDED)
		(void)renews(s);
	else if (means == DENIES && !(code && strcmp(code, "AccessDenied") == 0))
		renews_if_others(s);
}

static int refuse_rights(
	struct s3 *s, const char *subject, const char *said, const struct web_answer *a, struct err *err)
{
	char *clock = is_clock_off(a->date) ? tell_clock(ahead_ns(a->date)) : NULL;
	const struct aws_keys *keys;
	int rc = err_set(err, ERR_DENIED, "%s: %s; the credentials are those of %s%s%s", subject, said,
		aws_keys_get(s->aws, false, &keys, NULL) ? "nobody" : keys->source, clock ? ", and " : "",
		clock ? clock : "");

	free(clock);
	return rc;
}

static int refuse_as(struct s3 *s, enum refusal means, const char *subject, const char *said,
	const struct web_answer *a, struct err *err)
{
	switch (means) {
	case CLOCK_IS_OFF: return refuse_clock(subject, a->date, err);
	case LACKS_BUCKET:
		return err_set(err, ERR_FAILED, "%s: the store has no bucket '%s'", subject, s->bucket);
	case LACKS_KEY: return err_set(err, ERR_NOT_FOUND, "%s: there is no such object", subject);
	case HAS_CHANGED: return err_set(err, ERR_BUSY, "%s: it is there already, or has changed", subject);
	case IS_BUSY: return err_set(err, ERR_NETWORK, "%s: %s", subject, said);
	case DENIES:
	case KEYS_ENDED: return refuse_rights(s, subject, said, a, err);
	default: return err_set(err, ERR_FAILED, "%s: %s", subject, said);
	}
}

int s3_refuse(struct s3 *s, const struct s3_request *r, const struct web_answer *a, bool *ret_again,
	struct err *err)
{
	struct slice body = buf_slice(&a->body);
	char *code = xml_text(body, "Code"), *message = xml_text(body, "Message");
	enum refusal means = judge_refusal(code, a);
	char *said = xasprintf("the store says %s%s%.400s (status %d%s)", code ? code : "no",
		message ? ": " : "", message ? message : "", a->status,
		!code && means == KEYS_ENDED ? ": perhaps a session token has ended" : "");
	char *subject = subject_of(s, r);
	int rc = refuse_as(s, means, subject, said, a, err);

	*ret_again = means == IS_BUSY;
	if (means != HAS_CHANGED && means != IS_BUSY && !moves(s, a))
		look_for_keys(s, means, code);
	free(code);
	free(message);
	free(said);
	free(subject);
	return rc;
}
