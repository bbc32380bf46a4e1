ALTER TABLE "session" ADD COLUMN "voice" boolean DEFAULT false NOT NULL;--> statement-breakpoint
ALTER TABLE "session" ADD COLUMN "voice_failing" boolean DEFAULT false NOT NULL;