ALTER TABLE "lane" ADD COLUMN "waiting" boolean DEFAULT false NOT NULL;--> statement-breakpoint
UPDATE "lane" SET "suspect_group" = -"suspect_group" WHERE "suspect_group" < 0;
