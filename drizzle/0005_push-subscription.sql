CREATE TABLE "push_subscription" (
	"id" text PRIMARY KEY NOT NULL,
	"token_id" text NOT NULL,
	"endpoint" text NOT NULL,
	"p256dh" text NOT NULL,
	"auth" text NOT NULL,
	"contact" text,
	"client" text DEFAULT '' NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE INDEX "push_subscription_token" ON "push_subscription" USING btree ("token_id");