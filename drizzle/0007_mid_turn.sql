ALTER TABLE "lane" ADD COLUMN "joined_seq" integer DEFAULT 0 NOT NULL;--> statement-breakpoint
ALTER TABLE "lane" ADD COLUMN "interrupt_seq" integer DEFAULT 0 NOT NULL;