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
CREATE INDEX "refusal_at" ON "refusal" USING btree ("last_at");--> statement-breakpoint
CREATE INDEX "turn_trace_at" ON "turn_trace" USING btree ("at");