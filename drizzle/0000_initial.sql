CREATE TABLE "address" (
	"key" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"earlier" jsonb DEFAULT '[]'::jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "approval" (
	"id" text PRIMARY KEY NOT NULL,
	"lane" text NOT NULL,
	"turn_id" text NOT NULL,
	"detail" jsonb NOT NULL,
	"state" text DEFAULT 'pending' NOT NULL,
	"decided_by" text,
	"decided_name" text,
	"reason" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"decided_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "connection" (
	"key" text PRIMARY KEY NOT NULL,
	"session" text,
	"sequence" bigint DEFAULT 0 NOT NULL,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"heard_at" timestamp with time zone,
	"day" text,
	"begun_on_day" integer DEFAULT 0 NOT NULL,
	"begun_at" timestamp with time zone,
	"short_sessions" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "context" (
	"seq" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "context_seq_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"session" text NOT NULL,
	"lane_seq" integer NOT NULL,
	"turn_id" text NOT NULL,
	"iteration" integer NOT NULL,
	"kind" text NOT NULL,
	"part" integer NOT NULL,
	"payload" jsonb NOT NULL,
	"tokens" integer NOT NULL,
	"summarized_by" bigint,
	CONSTRAINT "context_step" UNIQUE("turn_id","iteration","kind","part")
);
--> statement-breakpoint
CREATE TABLE "delivery" (
	"ref" text PRIMARY KEY NOT NULL,
	"parts" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lane" (
	"key" text PRIMARY KEY NOT NULL,
	"class" text GENERATED ALWAYS AS (split_part(key, ':', 1)) STORED NOT NULL,
	"head" integer DEFAULT 0 NOT NULL,
	"tail" integer DEFAULT 0 NOT NULL,
	"owner" text,
	"epoch" integer DEFAULT 0 NOT NULL,
	"claim" text,
	"wake_at" timestamp with time zone DEFAULT now() NOT NULL,
	"delay_ms" bigint,
	"stop_seq" integer DEFAULT 0 NOT NULL,
	"joined_seq" integer DEFAULT 0 NOT NULL,
	"interrupt_seq" integer DEFAULT 0 NOT NULL,
	"caller_seq" integer DEFAULT 0 NOT NULL,
	"suspect_group" integer DEFAULT 0 NOT NULL,
	"waiting" boolean DEFAULT false NOT NULL,
	"unreported" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lane_item" (
	"lane" text NOT NULL,
	"seq" integer NOT NULL,
	"dedupe" text NOT NULL,
	"payload" jsonb NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"crashes" integer DEFAULT 0 NOT NULL,
	"lone_crashes" integer DEFAULT 0 NOT NULL,
	"waited_ms" bigint DEFAULT 0 NOT NULL,
	"error" text,
	"dead" boolean DEFAULT false NOT NULL,
	"done_at" timestamp with time zone,
	"done_epoch" integer,
	CONSTRAINT "lane_item_lane_seq_pk" PRIMARY KEY("lane","seq"),
	CONSTRAINT "lane_item_dedupe" UNIQUE("lane","dedupe")
);
--> statement-breakpoint
CREATE TABLE "message" (
	"session" text NOT NULL,
	"seq" integer NOT NULL,
	"turn_id" text NOT NULL,
	"role" text NOT NULL,
	"content" text NOT NULL,
	"sender_name" text,
	"is_plan" boolean DEFAULT false NOT NULL,
	"is_error" boolean DEFAULT false NOT NULL,
	"attachments" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "message_session_seq_pk" PRIMARY KEY("session","seq")
);
--> statement-breakpoint
CREATE TABLE "node" (
	"id" text PRIMARY KEY NOT NULL,
	"instance" text NOT NULL,
	"lease_until" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "session" (
	"key" text PRIMARY KEY NOT NULL,
	"profile_id" text DEFAULT 'default' NOT NULL,
	"profile_chosen" boolean DEFAULT false NOT NULL,
	"model" text,
	"mode" text DEFAULT 'planner' NOT NULL,
	"queue_mode" text DEFAULT 'queue' NOT NULL,
	"owner_token_id" text,
	"title" text,
	"folder" text DEFAULT gen_random_uuid()::text NOT NULL,
	"sources" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"pinned" boolean DEFAULT false NOT NULL,
	"archived" boolean DEFAULT false NOT NULL,
	"read_seq" integer DEFAULT 0 NOT NULL,
	"voice" boolean DEFAULT false NOT NULL,
	"voice_failing" boolean DEFAULT false NOT NULL,
	"message_seq" integer DEFAULT 0 NOT NULL,
	"fresh_seq" integer DEFAULT 0 NOT NULL,
	"fresh_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "turn" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
	"lane_seq" integer NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"reason" text,
	"failure" jsonb,
	"user_seq" integer NOT NULL,
	"final_seq" integer,
	"retry_of" text,
	"left_out" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
);
--> statement-breakpoint
CREATE TABLE "approval_rule" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"digest" text NOT NULL,
	"tool" text NOT NULL,
	"args" jsonb NOT NULL,
	"user_id" text NOT NULL,
	"created_by" text NOT NULL,
	"created_name" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"uses" integer DEFAULT 0 NOT NULL,
	"used_at" timestamp with time zone,
	CONSTRAINT "approval_rule_call" UNIQUE("session","digest")
);
--> statement-breakpoint
CREATE TABLE "grant" (
	"channel" text NOT NULL,
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"granted_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "grant_channel_kind_id_pk" PRIMARY KEY("channel","kind","id")
);
--> statement-breakpoint
CREATE TABLE "group_chat" (
	"channel" text NOT NULL,
	"chat_id" text NOT NULL,
	"observe" boolean,
	"bots" jsonb DEFAULT '{"turns":[]}'::jsonb NOT NULL,
	CONSTRAINT "group_chat_channel_chat_id_pk" PRIMARY KEY("channel","chat_id")
);
--> statement-breakpoint
CREATE TABLE "observed" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "observed_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"session" text NOT NULL,
	"message_id" text NOT NULL,
	"channel" text NOT NULL,
	"chat_id" text NOT NULL,
	"after_seq" integer NOT NULL,
	"sender_name" text NOT NULL,
	"content" text NOT NULL,
	CONSTRAINT "observed_message" UNIQUE("session","message_id")
);
--> statement-breakpoint
CREATE TABLE "pairing" (
	"channel" text NOT NULL,
	"sender_id" text NOT NULL,
	"sender_name" text,
	"code_hash" text NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"used_at" timestamp with time zone,
	CONSTRAINT "pairing_channel_sender_id_pk" PRIMARY KEY("channel","sender_id"),
	CONSTRAINT "pairing_code" UNIQUE("code_hash")
);
--> statement-breakpoint
CREATE TABLE "sign_in" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"hash" text NOT NULL,
	"token_id" text NOT NULL,
	"client" text DEFAULT '' NOT NULL,
	"proxy_user" text,
	"last_used_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "sign_in_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "stored_response" (
	"token_id" text NOT NULL,
	"id" text NOT NULL,
	"end_user" text,
	"previous_id" text,
	"session" text,
	"input" jsonb,
	"body" jsonb NOT NULL,
	"input_bytes" integer NOT NULL,
	"body_bytes" integer NOT NULL,
	"used_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "stored_response_token_id_id_pk" PRIMARY KEY("token_id","id")
);
--> statement-breakpoint
CREATE TABLE "token" (
	"id" text PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"name" text NOT NULL,
	"scopes" jsonb NOT NULL,
	"origin" text DEFAULT 'cli' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone,
	"revoked_at" timestamp with time zone,
	"last_used_at" timestamp with time zone,
	CONSTRAINT "token_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "usage" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "usage_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"turn_id" text,
	"session" text,
	"user_id" text,
	"token_id" text,
	"purpose" text DEFAULT 'turn' NOT NULL,
	"model" text NOT NULL,
	"prompt_tokens" integer NOT NULL,
	"completion_tokens" integer NOT NULL,
	"model_ms" integer NOT NULL,
	"estimated" boolean DEFAULT false NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "usage_sum" (
	"user_id" text NOT NULL,
	"hour" timestamp with time zone NOT NULL,
	"prompt_tokens" bigint NOT NULL,
	"completion_tokens" bigint NOT NULL,
	"model_ms" bigint NOT NULL,
	"answers" integer NOT NULL,
	"estimated" boolean NOT NULL,
	"up_to" bigint NOT NULL,
	CONSTRAINT "usage_sum_user_id_hour_pk" PRIMARY KEY("user_id","hour")
);
--> statement-breakpoint
CREATE TABLE "kept_file" (
	"folder" text NOT NULL,
	"path" text NOT NULL,
	"user_id" text NOT NULL,
	"bytes" bigint NOT NULL,
	"kept_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "kept_file_folder_path_pk" PRIMARY KEY("folder","path")
);
--> statement-breakpoint
CREATE TABLE "memory" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "memory_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" text NOT NULL,
	"key" text NOT NULL,
	"content" text NOT NULL,
	"session" text NOT NULL,
	"untrusted" boolean NOT NULL,
	"vector" "bytea",
	"vector_model" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "memory_key" UNIQUE("user_id","key")
);
--> statement-breakpoint
CREATE TABLE "plan" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"turn_id" text NOT NULL,
	"doc" jsonb NOT NULL,
	"request" jsonb,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "removed_folder" (
	"folder" text PRIMARY KEY NOT NULL,
	"removed_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "schedule" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
	"place" text NOT NULL,
	"creator_id" text NOT NULL,
	"timing" jsonb NOT NULL,
	"task" text NOT NULL,
	"sources" jsonb DEFAULT '[]'::jsonb NOT NULL,
	"next_at" timestamp with time zone,
	"last_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "schedule_run" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "schedule_run_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"schedule_id" text NOT NULL,
	"session" text NOT NULL,
	"due_at" timestamp with time zone NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	"outcome" text NOT NULL,
	"why" text,
	"turn_id" text
);
--> statement-breakpoint
CREATE TABLE "scratchpad" (
	"session" text NOT NULL,
	"name" text NOT NULL,
	"content" text NOT NULL,
	"sources" jsonb DEFAULT '[]'::jsonb NOT NULL,
	CONSTRAINT "scratchpad_session_name_pk" PRIMARY KEY("session","name")
);
--> statement-breakpoint
CREATE TABLE "session_file" (
	"folder" text NOT NULL,
	"path" text NOT NULL,
	"sha256" text NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "session_file_folder_path_pk" PRIMARY KEY("folder","path")
);
--> statement-breakpoint
CREATE TABLE "session_folder" (
	"folder" text PRIMARY KEY NOT NULL,
	"version" integer NOT NULL
);
--> statement-breakpoint
CREATE TABLE "todo" (
	"session" text PRIMARY KEY NOT NULL,
	"items" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "chat_setting" (
	"chat" text NOT NULL,
	"name" text NOT NULL,
	"value" text NOT NULL,
	"until" timestamp with time zone,
	CONSTRAINT "chat_setting_chat_name_pk" PRIMARY KEY("chat","name")
);
--> statement-breakpoint
CREATE TABLE "platform_update" (
	"bot" text NOT NULL,
	"id" bigint NOT NULL,
	"body" text,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "platform_update_bot_id_pk" PRIMARY KEY("bot","id")
);
--> statement-breakpoint
CREATE TABLE "choice" (
	"name" text PRIMARY KEY NOT NULL,
	"value" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "fanout_secret" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"subject" text NOT NULL,
	"key" text NOT NULL
);
--> statement-breakpoint
CREATE TABLE "mcp_status" (
	"instance" text PRIMARY KEY NOT NULL,
	"servers" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "node_settings" (
	"instance" text PRIMARY KEY NOT NULL,
	"version" text NOT NULL,
	"digests" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "node_status" (
	"instance" text PRIMARY KEY NOT NULL,
	"status" jsonb NOT NULL
);
--> statement-breakpoint
CREATE TABLE "link" (
	"hash" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
	"place" text NOT NULL,
	"name" text,
	"user_id" text NOT NULL,
	"agreed" boolean DEFAULT false NOT NULL,
	"to_address" text,
	"to_place" text,
	"to_name" text,
	"to_user_id" text,
	"to_agreed" boolean DEFAULT false NOT NULL,
	"ended" text,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL
);
--> statement-breakpoint
CREATE TABLE "link_try" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "link_try_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" text NOT NULL,
	"address" text NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "surface" (
	"address" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"place" text NOT NULL,
	"name" text,
	"user_id" text NOT NULL,
	"is_home" boolean NOT NULL,
	"before" text,
	"linked_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "refusal" (
	"address" text NOT NULL,
	"sender_id" text NOT NULL,
	"code" text NOT NULL,
	"detail" text NOT NULL,
	"count" integer NOT NULL,
	"last_at" timestamp with time zone NOT NULL,
	CONSTRAINT "refusal_address_sender_id_code_pk" PRIMARY KEY("address","sender_id","code")
);
--> statement-breakpoint
CREATE TABLE "turn_trace" (
	"turn_id" text PRIMARY KEY NOT NULL,
	"attempts" jsonb NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "address_session" ON "address" USING btree ("session");--> statement-breakpoint
CREATE INDEX "approval_turn" ON "approval" USING btree ("turn_id","created_at");--> statement-breakpoint
CREATE INDEX "approval_pending" ON "approval" USING btree ("lane","created_at") WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX "context_history" ON "context" USING btree ("session","lane_seq","seq") WHERE summarized_by is null and kind <> 'tool_intent';--> statement-breakpoint
CREATE INDEX "delivery_age" ON "delivery" USING btree ("updated_at");--> statement-breakpoint
CREATE INDEX "lane_due" ON "lane" USING btree ("class","wake_at") WHERE tail > head and owner is null;--> statement-breakpoint
CREATE INDEX "lane_owner" ON "lane" USING btree ("owner") WHERE owner is not null;--> statement-breakpoint
CREATE INDEX "lane_suspect" ON "lane" USING btree ("key") WHERE suspect_group > 0;--> statement-breakpoint
CREATE INDEX "lane_pending" ON "lane" USING btree ("class") WHERE tail > head;--> statement-breakpoint
CREATE INDEX "lane_item_done" ON "lane_item" USING btree ("done_at") WHERE done_at is not null;--> statement-breakpoint
CREATE INDEX "lane_item_dead" ON "lane_item" USING btree ("done_at") WHERE dead;--> statement-breakpoint
CREATE INDEX "message_words" ON "message" USING gin (to_tsvector('simple', "content"));--> statement-breakpoint
CREATE INDEX "session_recent" ON "session" USING btree ("updated_at" DESC NULLS FIRST,"key");--> statement-breakpoint
CREATE INDEX "session_owner" ON "session" USING btree ("owner_token_id","updated_at" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "session_pinned" ON "session" USING btree ("updated_at") WHERE pinned;--> statement-breakpoint
CREATE INDEX "turn_session" ON "turn" USING btree ("session","lane_seq");--> statement-breakpoint
CREATE INDEX "turn_retry" ON "turn" USING btree ("retry_of") WHERE retry_of is not null;--> statement-breakpoint
CREATE INDEX "approval_rule_created" ON "approval_rule" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "observed_session" ON "observed" USING btree ("session","id");--> statement-breakpoint
CREATE INDEX "observed_chat" ON "observed" USING btree ("channel","chat_id");--> statement-breakpoint
CREATE INDEX "sign_in_token" ON "sign_in" USING btree ("token_id");--> statement-breakpoint
CREATE INDEX "stored_response_used" ON "stored_response" USING btree ("used_at");--> statement-breakpoint
CREATE INDEX "stored_response_token" ON "stored_response" USING btree ("token_id","used_at");--> statement-breakpoint
CREATE INDEX "usage_at" ON "usage" USING btree ("at");--> statement-breakpoint
CREATE INDEX "usage_turn" ON "usage" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "usage_session" ON "usage" USING btree ("session","at");--> statement-breakpoint
CREATE INDEX "usage_user" ON "usage" USING btree ("user_id","at");--> statement-breakpoint
CREATE INDEX "usage_sum_up_to" ON "usage_sum" USING btree ("up_to");--> statement-breakpoint
CREATE INDEX "kept_file_user" ON "kept_file" USING btree ("user_id","kept_at");--> statement-breakpoint
CREATE INDEX "kept_file_age" ON "kept_file" USING btree ("kept_at","folder","path");--> statement-breakpoint
CREATE INDEX "memory_user" ON "memory" USING btree ("user_id","id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "memory_words" ON "memory" USING gin (to_tsvector('simple', "content"));--> statement-breakpoint
CREATE INDEX "plan_session" ON "plan" USING btree ("session","created_at" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "plan_turn" ON "plan" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "removed_folder_age" ON "removed_folder" USING btree ("removed_at");--> statement-breakpoint
CREATE INDEX "schedule_due" ON "schedule" USING btree ("next_at") WHERE next_at is not null;--> statement-breakpoint
CREATE INDEX "schedule_session" ON "schedule" USING btree ("session","created_at" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "schedule_run_newest" ON "schedule_run" USING btree ("schedule_id","id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "schedule_run_session" ON "schedule_run" USING btree ("session");--> statement-breakpoint
CREATE INDEX "schedule_run_age" ON "schedule_run" USING btree ("at");--> statement-breakpoint
CREATE INDEX "platform_update_waiting" ON "platform_update" USING btree ("bot","id") WHERE body is not null;--> statement-breakpoint
CREATE INDEX "platform_update_received" ON "platform_update" USING btree ("bot","at") WHERE body is null;--> statement-breakpoint
CREATE INDEX "link_address" ON "link" USING btree ("address");--> statement-breakpoint
CREATE INDEX "link_to_address" ON "link" USING btree ("to_address");--> statement-breakpoint
CREATE INDEX "link_try_at" ON "link_try" USING btree ("at");--> statement-breakpoint
CREATE INDEX "surface_session" ON "surface" USING btree ("session");--> statement-breakpoint
CREATE INDEX "refusal_at" ON "refusal" USING btree ("last_at");--> statement-breakpoint
CREATE INDEX "turn_trace_at" ON "turn_trace" USING btree ("at");