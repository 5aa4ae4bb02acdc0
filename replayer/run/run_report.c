/* run_report.c: what happened in a replay, told at its end; see run.h. */
#include "replayer/run/run.h"

#include "replayer/fault/fault_keys.h"
#include "replayer/fault/fault_tally.h"
#include "replayer/world/replay_clock.h"
#include "schema/base/clock.h"
#include "schema/base/count_of.h"
#include "schema/base/json_scan.h"
#include "schema/base/limits.h"
#include "schema/base/out_file.h"
#include "schema/base/visible.h"

#include <stdio.h>

static const struct {
	const char *name;
	double part;
} percentiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}, {"p99.9", 0.999}};

static const char *speed_text(double speed, char to[32])
{
	if (speed > SPEED_MAX)
		snprintf(to, 32, "%g", speed);
	else
		snprintf(to, 32, "max");
	return to;
}

static int write_clients(const struct run *r, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, ",\"clients\":[");

	for (size_t i = 0; i < r->client_count && rc == 0; i++) {
		const struct run_client *c = &r->clients[i];

		rc = buf_printf(to, err, "%s{\"user_agent\":", i ? "," : "");
		if (rc == 0)
			rc = json_escape(slice_of(c->name), to, err);
		if (rc == 0)
			rc = buf_printf(to, err,
				",\"requests\":%llu,\"lists\":%llu,\"relists\":%llu,\"watches\":%llu,\"events\":%llu,"
				"\"refused\":%llu}",
				(unsigned long long)c->requests, (unsigned long long)c->lists,
				(unsigned long long)c->relists, (unsigned long long)c->watches,
				(unsigned long long)c->events, (unsigned long long)c->refused);
	}
	return rc ? rc : buf_append(to, "]", 1, err);
}

static int write_lateness(const struct run *r, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, ",\"lateness_us\":{");

	for (size_t i = 0; i < COUNT_OF(percentiles) && rc == 0; i++)
		rc = buf_printf(to, err, "\"%s\":%.1f,", percentiles[i].name,
			(double)histogram_at(&r->late, percentiles[i].part) / 1000);
	return rc ? rc : buf_printf(to, err, "\"max\":%.1f}", (double)r->late.max_ns / 1000);
}

static size_t fault_count(const struct run_facts *f)
{
	return f->faults ? faults_rule_count(f->faults) : 0;
}

static int write_fault(const struct faults *faults, size_t i, struct buf *to, struct err *err)
{
	const struct fault_rule *rule = faults_rule(faults, i);
	const struct fault_tally *t = faults_tally(faults, i);
	int rc = buf_printf(to, err, "%s{\"name\":", i ? "," : "");

	if (rc == 0)
		rc = json_escape(slice_of(rule->name), to, err);
	if (rc == 0)
		rc = buf_printf(to, err,
			",\"what\":\"%s\",\"happened\":%llu,\"watches\":%llu,\"requests\":%llu,\"frames\":%llu,"
			"\"struck\":%s,\"optional\":%s}",
			fault_do_word(rule->what.act), (unsigned long long)t->happened,
			(unsigned long long)t->watches, (unsigned long long)t->requests,
			(unsigned long long)t->frames, faults_has_struck(faults, i) ? "true" : "false",
			rule->optional ? "true" : "false");
	return rc;
}

static int write_faults(const struct run_facts *f, struct buf *to, struct err *err)
{
	int rc = buf_printf(to, err, ",\"faults\":[");

	for (size_t i = 0; i < fault_count(f) && rc == 0; i++)
		rc = write_fault(f->faults, i, to, err);
	return rc ? rc : buf_append(to, "]", 1, err);
}

static int write_json(const struct run *r, const struct run_facts *f, struct buf *to, struct err *err)
{
	double seconds = (double)(clock_mono_ns(&clock_system) - r->begin_ns) / (double)NS_PER_S;
	char speed[32];
	int rc = buf_printf(to, err, "{\"tape\":");

	speed_text(f->speed, speed);
	if (rc == 0)
		rc = json_escape(slice_of(f->tape), to, err);
	if (rc == 0)
		rc = buf_printf(to, err,
			",\"first_seq\":%llu,\"last_seq\":%llu,\"seq\":%llu,\"speed\":%s%s%s,\"seconds\":%.3f,"
			"\"requests\":%llu,\"watches\":%llu,\"events\":%llu,\"bookmarks\":%llu,\"cut\":%llu",
			(unsigned long long)f->first_seq, (unsigned long long)f->last_seq,
			(unsigned long long)f->seq, f->speed > SPEED_MAX ? "" : "\"", speed,
			f->speed > SPEED_MAX ? "" : "\"", seconds, (unsigned long long)r->requests,
			(unsigned long long)r->watches, (unsigned long long)r->events,
			(unsigned long long)r->bookmarks, (unsigned long long)f->connections_cut);
	if (rc == 0)
		rc = write_lateness(r, to, err);
	if (rc == 0)
		rc = write_clients(r, to, err);
	if (rc == 0)
		rc = write_faults(f, to, err);
	return rc ? rc : buf_append(to, "}\n", 2, err);
}

int run_report_write(const struct run *r, const struct run_facts *f, const char *path, struct err *err)
{
	struct buf text;
	int rc;

	buf_init(&text, LIMIT_DOCUMENT_BYTES);
	rc = write_json(r, f, &text, err);
	if (rc == 0)
		rc = out_file_write(path, buf_slice(&text), err);
	buf_release(&text);
	return rc;
}

static int say_fault(const struct faults *faults, size_t i, struct buf *to, struct err *err)
{
	const struct fault_rule *rule = faults_rule(faults, i);
	const struct fault_tally *t = faults_tally(faults, i);

	return buf_printf(to, err,
		"fault        %s (%s): happened %llux; struck watches %llu, requests %llu, frames %llu%s\n",
		rule->name, fault_do_word(rule->what.act), (unsigned long long)t->happened,
		(unsigned long long)t->watches, (unsigned long long)t->requests,
		(unsigned long long)t->frames, faults_has_struck(faults, i) ? "" : ", that is nobody");
}

int run_report_text(const struct run *r, const struct run_facts *f, struct buf *to, struct err *err)
{
	static const char client[] = "client       ";
	char speed[32], late[TIME_TEXT_BYTES];
	int rc = buf_printf(to, err,
		"tape         %s, events %llu to %llu, stands at %llu\nspeed        %s\n"
		"answered     %llu requests, %llu of them watches; %llu connections cut\n"
		"delivered    %llu events, %llu bookmarks\n",
		f->tape, (unsigned long long)f->first_seq, (unsigned long long)f->last_seq,
		(unsigned long long)f->seq, speed_text(f->speed, speed), (unsigned long long)r->requests,
		(unsigned long long)r->watches, (unsigned long long)f->connections_cut,
		(unsigned long long)r->events, (unsigned long long)r->bookmarks);

	for (size_t i = 0; i < COUNT_OF(percentiles) && rc == 0 && r->late.count; i++)
		rc = buf_printf(to, err, "%s%s %.1f us", i ? ", " : "lateness     ", percentiles[i].name,
			(double)histogram_at(&r->late, percentiles[i].part) / 1000);
	if (rc == 0 && r->late.count)
		rc = buf_printf(to, err, ", max %s\n", duration_format(late, r->late.max_ns));
	for (size_t i = 0; i < r->client_count && rc == 0; i++) {
		const struct run_client *c = &r->clients[i];

		rc = buf_append(to, client, sizeof(client) - 1, err);
		if (rc == 0)
			rc = visible_append(to, slice_of(c->name), err);
		if (rc == 0)
			rc = buf_printf(to, err,
				": %llu requests, %llu lists (%llu again), %llu watches, %llu events, %llu refused\n",
				(unsigned long long)c->requests, (unsigned long long)c->lists,
				(unsigned long long)c->relists, (unsigned long long)c->watches,
				(unsigned long long)c->events, (unsigned long long)c->refused);
	}
	for (size_t i = 0; i < fault_count(f) && rc == 0; i++)
		rc = say_fault(f->faults, i, to, err);
	return rc;
}
