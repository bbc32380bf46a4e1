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
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"updated_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "schedule" (
	"id" text PRIMARY KEY NOT NULL,
	"session" text NOT NULL,
	"address" text NOT NULL,
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
ALTER TABLE "session" ADD COLUMN "queue_mode" text DEFAULT 'queue' NOT NULL;--> statement-breakpoint
ALTER TABLE "usage" ADD COLUMN "user_id" text;--> statement-breakpoint
ALTER TABLE "usage" ADD COLUMN "purpose" text DEFAULT 'turn' NOT NULL;--> statement-breakpoint
CREATE INDEX "memory_user" ON "memory" USING btree ("user_id","id" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "memory_words" ON "memory" USING gin (to_tsvector('simple', "content"));--> statement-breakpoint
CREATE INDEX "plan_session" ON "plan" USING btree ("session","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "plan_turn" ON "plan" USING btree ("turn_id");--> statement-breakpoint
CREATE INDEX "schedule_due" ON "schedule" USING btree ("next_at") WHERE next_at is not null;--> statement-breakpoint
CREATE INDEX "schedule_session" ON "schedule" USING btree ("session","created_at" DESC NULLS LAST);--> statement-breakpoint
CREATE INDEX "usage_session" ON "usage" USING btree ("session","at");--> statement-breakpoint
CREATE INDEX "usage_user" ON "usage" USING btree ("user_id","at");