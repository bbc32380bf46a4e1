CREATE TABLE "sign_in" (
	"id" text PRIMARY KEY NOT NULL,
	"kind" text NOT NULL,
	"hash" text NOT NULL,
	"token_id" text NOT NULL,
	"client" text DEFAULT '' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL,
	"expires_at" timestamp with time zone NOT NULL,
	CONSTRAINT "sign_in_hash" UNIQUE("hash")
);
--> statement-breakpoint
CREATE INDEX "sign_in_token" ON "sign_in" USING btree ("token_id");