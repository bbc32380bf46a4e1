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
ALTER TABLE "sign_in" ADD COLUMN "last_used_at" timestamp with time zone;--> statement-breakpoint
CREATE INDEX "schedule_run_newest" ON "schedule_run" USING btree ("schedule_id","id" DESC NULLS FIRST);--> statement-breakpoint
CREATE INDEX "schedule_run_session" ON "schedule_run" USING btree ("session");--> statement-breakpoint
CREATE INDEX "schedule_run_age" ON "schedule_run" USING btree ("at");