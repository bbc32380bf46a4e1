CREATE TABLE "connection" (
	"key" text PRIMARY KEY NOT NULL,
	"session" text,
	"sequence" bigint DEFAULT 0 NOT NULL,
	"detail" jsonb DEFAULT '{}'::jsonb NOT NULL,
	"heard_at" timestamp with time zone,
	"day" text,
	"begun_on_day" integer DEFAULT 0 NOT NULL,
	"begun_at" timestamp with time zone,
	"short_sessions" integer DEFAULT 0 NOT NULL
);
