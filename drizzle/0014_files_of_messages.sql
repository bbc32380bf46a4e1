CREATE TABLE "kept_file" (
	"folder" text NOT NULL,
	"path" text NOT NULL,
	"user_id" text NOT NULL,
	"bytes" bigint NOT NULL,
	"kept_at" timestamp with time zone DEFAULT now() NOT NULL,
	CONSTRAINT "kept_file_folder_path_pk" PRIMARY KEY("folder","path")
);
--> statement-breakpoint
ALTER TABLE "message" ADD COLUMN "attachments" jsonb;--> statement-breakpoint
CREATE INDEX "kept_file_user" ON "kept_file" USING btree ("user_id","kept_at");--> statement-breakpoint
CREATE INDEX "kept_file_age" ON "kept_file" USING btree ("kept_at","folder","path");