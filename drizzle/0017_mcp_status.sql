CREATE TABLE "mcp_status" (
	"instance" text PRIMARY KEY NOT NULL,
	"servers" jsonb NOT NULL
);
