import { Module } from '@nestjs/common';
import { EmployerModule } from '../employer/employer.module';
import { MadeElsewhere } from './made-elsewhere';
import { SecondLook } from './second-look';
import { SuccessorController } from './successor.controller';
import { Successors } from './successor';

/** Successors of pay runs: they are made, and gated, over what the bank shows now. */
@Module({
  imports: [EmployerModule],
  controllers: [SuccessorController],
  providers: [MadeElsewhere, SecondLook, Successors],
  exports: [SecondLook],
})
export class SuccessorModule {}
