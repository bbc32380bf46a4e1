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
ALTER TABLE "approval" ADD COLUMN "reason" text;--> statement-breakpoint
CREATE INDEX "approval_rule_created" ON "approval_rule" USING btree ("created_at");