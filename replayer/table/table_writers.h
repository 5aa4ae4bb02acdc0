/*
 * table_writers.h: the cells of built-in kinds. The comment after each gives the meaning of the column's a
 * and b.
 */
#ifndef REPLAYER_TABLE_WRITERS_H
#define REPLAYER_TABLE_WRITERS_H

#include "replayer/table/table_columns.h"

/* table_writers.c: of any kind */
table_cell_writer cell_text;         /* a: path of a string, b: text shown if it is empty */
table_cell_writer cell_number;       /* a: path; 0 if absent */
table_cell_writer cell_boolean;      /* a: path; false if absent */
table_cell_writer cell_boolean_word; /* a: path; "True", "False" or "<unset>" */
table_cell_writer cell_scalar;       /* a: path of a number, b: text when absent */
table_cell_writer cell_scalar_text;  /* a: path of a number or string, as text; b: when absent */
table_cell_writer cell_age;          /* a: path of a time */
table_cell_writer cell_age_or_none;  /* a: path of a time */
table_cell_writer cell_ratio;        /* a, b: paths of numbers, "2/3" */
table_cell_writer cell_members;      /* a, b: paths of objects or lists whose members are counted */
table_cell_writer cell_list_of;      /* a: path of a list of objects, b: the member of each to join */
table_cell_writer cell_first_of;     /* a: path of a list of strings, b: when empty */
table_cell_writer cell_labels;       /* a: path of a map, "k=v,..." or "<none>" */
table_cell_writer cell_selector;     /* a: path of a label selector, b: when empty */
table_cell_writer cell_condition;    /* a: type of a condition, b: when absent; its status */

/* table_writers_kinds.c: of one kind each */
table_cell_writer cell_job_status, cell_job_completions, cell_job_duration;
table_cell_writer cell_external_ip, cell_service_ports, cell_endpoints, cell_slice_ports,
	cell_slice_endpoints;
table_cell_writer cell_node_status, cell_node_roles, cell_node_kernel;
table_cell_writer cell_node_address; /* a: type of the address */
table_cell_writer cell_event_last, cell_event_first, cell_event_object, cell_event_field, cell_event_source,
	cell_event_message, cell_event_count;
table_cell_writer cell_ingress_hosts, cell_balancer_address, cell_ingress_ports, cell_parameters;
table_cell_writer cell_access_modes; /* a: path of the modes */
table_cell_writer cell_phase, cell_claim, cell_storage_class;
table_cell_writer cell_role;
table_cell_writer cell_subjects; /* a: kind of the subjects */
table_cell_writer cell_api_service, cell_available;

/* table_writers_admin.c: of kinds that only administrators meet */
table_cell_writer cell_component; /* a: member of its condition, NULL: whether it is healthy */
table_cell_writer cell_quota;     /* a: "limits" or "requests", which is all the others */
table_cell_writer cell_controller, cell_parent;
table_cell_writer cell_strings; /* a: path of a list of strings, b: when empty */
table_cell_writer cell_param_kind, cell_param_ref;
table_cell_writer cell_seconds; /* a: path of a number of seconds, as a duration */
table_cell_writer cell_request_state;
table_cell_writer cell_true_unless_false; /* a: path */
table_cell_writer cell_token_requests, cell_claim_state;
table_cell_writer cell_age_or_nothing; /* a: path of a time */

/* table_autoscaler.c: of a HorizontalPodAutoscaler */
table_cell_writer cell_autoscaler_reference, cell_autoscaler_targets;

#endif
