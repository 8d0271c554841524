"""Adds on the GPU: a generated kernel, which TensorFlow loads from memory, then some of its own.

    python tensorflow_add.py"""
import tensorflow as tf

with tf.device("/GPU:0"):
    sums = tf.constant([1.0, 2.0, 3.0]) + 1.0
    print("added on", sums.device.split("/")[-1], flush=True)
    tf.reduce_sum(tf.nn.relu(sums)).numpy()
print("summed")
