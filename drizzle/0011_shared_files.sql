CREATE TABLE "session_file" (
	"folder" text NOT NULL,
	"path" text NOT NULL,
	"sha256" text NOT NULL,
	"bytes" "bytea" NOT NULL,
	CONSTRAINT "session_file_folder_path_pk" PRIMARY KEY("folder","path")
);
--> statement-breakpoint
CREATE TABLE "session_folder" (
	"folder" text PRIMARY KEY NOT NULL,
	"version" integer NOT NULL
);
