CREATE TABLE "budget" (
	"key" text PRIMARY KEY NOT NULL,
	"spent" bigint DEFAULT 0 NOT NULL,
	"more" bigint DEFAULT 0 NOT NULL,
	"refused" boolean DEFAULT false NOT NULL,
	"told" boolean DEFAULT false NOT NULL,
	"created_at" timestamp with time zone DEFAULT now() NOT NULL
);
--> statement-breakpoint
CREATE TABLE "budget_hold" (
	"holder" text NOT NULL,
	"key" text NOT NULL,
	"in_tokens" boolean NOT NULL,
	"amount" bigint NOT NULL,
	"at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "budget_hold_holder_key_pk" PRIMARY KEY("holder","key")
);
--> statement-breakpoint
CREATE INDEX "budget_age" ON "budget" USING btree ("created_at");--> statement-breakpoint
CREATE INDEX "budget_hold_key" ON "budget_hold" USING btree ("key");