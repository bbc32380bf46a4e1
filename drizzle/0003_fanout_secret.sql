CREATE TABLE "fanout_secret" (
	"id" integer PRIMARY KEY DEFAULT 1 NOT NULL,
	"subject" text NOT NULL,
	"key" text NOT NULL
);
