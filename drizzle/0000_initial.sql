CREATE TABLE "address" (
	"key" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL
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
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	"decided_at" timestamp with time zone
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
CREATE TABLE "grant" (
	"channel" text NOT NULL,
	"kind" text NOT NULL,
	"id" text NOT NULL,
	"granted_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "grant_channel_kind_id_pk" PRIMARY KEY("channel","kind","id")
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
	"stop_seq" integer DEFAULT 0 NOT NULL,
	"joined_seq" integer DEFAULT 0 NOT NULL,
	"interrupt_seq" integer DEFAULT 0 NOT NULL
);
--> statement-breakpoint
CREATE TABLE "lane_item" (
	"lane" text NOT NULL,
	"seq" integer NOT NULL,
	"dedupe" text NOT NULL,
	"payload" jsonb NOT NULL,
	"attempts" integer DEFAULT 0 NOT NULL,
	"crashes" integer DEFAULT 0 NOT NULL,
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
CREATE TABLE "session" (
	"key" text PRIMARY KEY NOT NULL,
	"profile_id" text DEFAULT 'default' NOT NULL,
	"model" text,
	"mode" text DEFAULT 'planner' NOT NULL,
	"queue_mode" text DEFAULT 'queue' NOT NULL,
	"owner_token_id" text,
	"message_seq" integer DEFAULT 0 NOT NULL,
	"fresh_seq" integer DEFAULT 0 NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "token" (
	"id" text PRIMARY KEY NOT NULL,
	"hash" text NOT NULL,
	"name" text NOT NULL,
	"scopes" jsonb NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "token_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE TABLE "turn" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
	"lane_seq" integer NOT NULL,
	"state" text DEFAULT 'queued' NOT NULL,
	"reason" text,
	"user_seq" integer NOT NULL,
	"final_seq" integer,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"ended_at" timestamp with time zone
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
CREATE TABLE "memory" (
	"id" bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY (sequence name "memory_id_seq" INCREMENT BY 1 MINVALUE 1 MAXVALUE 9223372036854775807 START WITH 1 CACHE 1),
	"user_id" text NOT NULL,
	"key" text NOT NULL,
	"content" text NOT NULL,
	"session" text NOT NULL,
	"untrusted" boolean NOT NULL,
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
CREATE TABLE "schedule" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
	"place" text NOT NULL,
	"creator_id" text NOT NULL,
	"timing" jsonb NOT NULL,
	"task" text NOT NULL,
	"next_at" timestamp with time zone,
	"last_at" timestamp with time zone,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "scratchpad" (
	"session" text NOT NULL,
	"name" text NOT NULL,
	"content" text NOT NULL,
	CONSTRAINT "scratchpad_session_name_pk" PRIMARY KEY("session","name")
);
--> statement-breakpoint
CREATE TABLE "todo" (
	"session" text PRIMARY KEY NOT NULL,
	"items" jsonb NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "address_session" ON "address" USING btree ("session");--> statement-breakpoint
CREATE INDEX "approval_turn" ON "approval" USING btree ("turn_id","created_at");--> statement-breakpoint
CREATE INDEX "approval_pending" ON "approval" USING btree ("lane","created_at") WHERE state = 'pending';--> statement-breakpoint
CREATE INDEX "context_history" ON "context" USING btree ("session","lane_seq","seq") WHERE summarized_by is null and kind <> 'tool_intent';--> statement-breakpoint
CREATE INDEX "delivery_age" ON "delivery" USING btree ("updated_at");--> statement-breakpoint
CREATE INDEX "lane_due" ON "lane" USING btree ("class","wake_at") WHERE tail > head and owner is null;--> statement-breakpoint
CREATE INDEX "lane_owner" ON "lane" USING btree ("owner") WHERE owner is not null;--> statement-breakpoint
CREATE INDEX "lane_pending" ON "lane" USING btree ("class") WHERE tail > head;--> statement-breakpoint
CREATE INDEX "lane_item_done" ON "lane_item" USING btree ("done_at") WHERE done_at is not null;--> statement-breakpoint
CREATE INDEX "lane_item_dead" ON "lane_item" USING btree ("done_at") WHERE dead;--> statement-breakpoint
CREATE INDEX "session_recent" ON "session" USING btree ("updated_at" DESC NULLS FIRST,"key");--> statement-breakpoint
CREATE INDEX "session_owner" ON "session" USING btree ("owner_token_id","updated_at" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "turn_session" ON "turn" USING btree ("session","lane_seq");--> statement-breakpoint
CREATE INDEX "usage_at" ON "usage" USING btree ("at");--> statement-breakpoint
CREATE INDEX "usage_turn" ON "usage" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "usage_session" ON "usage" USING btree ("session","at");--> statement-breakpoint
CREATE INDEX "usage_user" ON "usage" USING btree ("user_id","at");--> statement-breakpoint
CREATE INDEX "memory_user" ON "memory" USING btree ("user_id","id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "memory_words" ON "memory" USING gin (to_tsvector('simple', "content"));--> statement-breakpoint
CREATE INDEX "plan_session" ON "plan" USING btree ("session","created_at" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "plan_turn" ON "plan" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "schedule_due" ON "schedule" USING btree ("next_at") WHERE next_at is not null;--> statement-breakpoint
CREATE INDEX "schedule_session" ON "schedule" USING btree ("session","created_at" DESC NULLS FIRST);