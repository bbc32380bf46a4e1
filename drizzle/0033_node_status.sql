CREATE TABLE "node_status" (
	"instance" text PRIMARY KEY NOT NULL,
	"status" jsonb NOT NULL
);
