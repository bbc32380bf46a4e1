CREATE TABLE "hook_call" (
	"id" text PRIMARY KEY NOT NULL,
	"called_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "hook_call_called" ON "hook_call" USING btree ("called_at");