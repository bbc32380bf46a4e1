CREATE TABLE "node_settings" (
	"instance" text PRIMARY KEY NOT NULL,
	"version" text NOT NULL,
	"digests" jsonb NOT NULL
);
