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
CREATE INDEX "stored_response_used" ON "stored_response" USING btree ("used_at");--> statement-breakpoint
CREATE INDEX "stored_response_token" ON "stored_response" USING btree ("token_id","used_at");